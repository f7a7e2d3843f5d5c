#include <bits/stdc++.h>
using namespace std;

tuple<long long, long long, long long> extended(long long a, long long b) {
    if (!b) return make_tuple(a, 1, 0);
    long long g, x, y;
    tie(g, x, y) = extended(b, a % b);
    return make_tuple(g, y, x - a / b * y);
}

int main() {
    vector<tuple<string, int, double>> rows;
    rows.emplace_back("bob", 3, 2.5);
    rows.emplace_back("ann", 3, 1.5);
    rows.push_back(make_tuple("cid", 1, 9.25));
    sort(rows.begin(), rows.end(), [](const tuple<string, int, double>& a, const tuple<string, int, double>& b) {
        return make_pair(-get<1>(a), get<0>(a)) < make_pair(-get<1>(b), get<0>(b));
    });
    for (auto& r : rows) cout << get<0>(r) << ' ' << get<1>(r) << ' ' << get<2>(r) << '\n';
    auto joined = tuple_cat(rows[0], make_pair('x', 7u));
    cout << tuple_size<decltype(joined)>::value << get<3>(joined) << (rows[0] < rows[1]) << '\n';
    string name;
    tie(name, ignore, ignore) = rows.back();
    pair<int, pair<int, string>> nested{1, {2, "three"}};
    swap(nested.first, nested.second.first);
    cout << name << nested.second.second << nested.first << get<0>(extended(84, 30)) << '\n';
#if __cplusplus >= 201703L
    auto [g, x, y] = extended(240, 46);
    map<string, int> ages{{"ann", 30}, {"bob", 20}};
    for (auto& [who, age] : ages) cout << who << age + g << x << y << '\n';
    if (auto [it, fresh] = ages.try_emplace("cid", 1); fresh) cout << it->first << '\n';
    cout << apply([](auto... xs) { return (xs + ...); }, array{1, 2, 3}) << '\n';
#endif
}
