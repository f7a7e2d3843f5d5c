#include <bits/stdc++.h>
using namespace std;

struct ByLength {
    bool operator()(const string& a, const string& b) const { return make_pair(a.size(), a) < make_pair(b.size(), b); }
};

int main() {
    int q;
    if (scanf("%d", &q) != 1) return 0;
    multiset<int> bag;
    map<int, int, greater<int>> count;
    set<string, ByLength> names{"bob", "al", "christine"};
    multimap<int, string> order;
    for (char op; q--;) {
        int x;
        if (scanf(" %c%d", &op, &x) != 2) break;
        if (op == '+') bag.insert(x), ++count[x], order.insert({x % 10, to_string(x)});
        if (op == '-' && bag.count(x)) bag.erase(bag.find(x)), --count.at(x);
        if (op == '?') {
            auto it = bag.lower_bound(x);
            auto up = bag.upper_bound(x);
            printf("%d %d\n", it == bag.end() ? -1 : *it, up == bag.begin() ? -1 : *prev(up));
        }
        if (op == 'n') names.emplace_hint(names.end(), string(x, 'n'));
    }
    for (auto it = count.begin(); it != count.end();) it = it->second ? next(it) : count.erase(it);
    for (auto& p : count) printf("%d:%d ", p.first, p.second);
    for (auto r = order.equal_range(3); r.first != r.second; ++r.first) printf("[%s]", r.first->second.c_str());
    for (auto it = names.rbegin(); it != names.rend(); ++it) printf(" %s", it->c_str());
    puts("");
}
