#include <bits/stdc++.h>
using namespace std;

struct Fenwick : private vector<long long> {
    using vector<long long>::vector;
    void add(size_t i, long long x) { for (i++; i < size(); i += i & -i) at(i) += x; }
    long long sum(size_t i) const { return i ? operator[](i) + sum(i & (i - 1)) : 0; }
};

int main() {
    istream_iterator<int> in(cin), end;
    vector<int> v(in, end), sorted(v);
    sort(sorted.rbegin(), sorted.rend());
    sorted.erase(unique(sorted.begin(), sorted.end()), sorted.end());
    Fenwick seen(sorted.size() + 1), total(sorted.size() + 1, 0);
    long long inversions = 0;
    for (auto it = v.cbegin(); it != v.cend(); it = next(it)) {
        size_t at = lower_bound(sorted.begin(), sorted.end(), *it, greater<int>()) - sorted.begin();
        inversions += seen.sum(at);
        seen.add(at, 1);
        total.add(at, *it);
    }
    move_iterator<vector<int>::iterator> first = make_move_iterator(v.begin()), last(v.end());
    multiset<int, greater<int>> bag(first, last);
    copy_if(bag.begin(), bag.end(), ostream_iterator<int>(cout, ", "), [](int x) { return x % 3 == 0; });
    cout << inversions << ' ' << total.sum(sorted.size()) << endl;
}
