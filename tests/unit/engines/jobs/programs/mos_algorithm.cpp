#include <bits/stdc++.h>
using namespace std;

#define rep(i, a, b) for (int i = (a); i < (b); i++)

struct Query {
    int l, r, id;
};

int main() {
    ios::sync_with_stdio(false), cin.tie(nullptr);
    int n, q;
    cin >> n >> q;
    vector<int> v(n), count(n), answer(q), values;
    for (int& x : v) cin >> x, values.push_back(x);
    sort(begin(values), end(values));
    for (int& x : v) x = int(lower_bound(begin(values), end(values), x) - begin(values));
    vector<Query> queries(q);
    rep(i, 0, q) cin >> queries[i].l >> queries[i].r, queries[i].id = i;
    int block = max(1, int(sqrt(n))), l = 0, r = 0, distinct = 0;
    sort(begin(queries), end(queries), [block](const Query& a, const Query& b) {
        if (a.l / block != b.l / block) return a.l < b.l;
        return (a.l / block & 1) ? a.r > b.r : a.r < b.r;
    });
    auto add = [&](int i) { distinct += count[v[i]]++ == 0; };
    auto drop = [&](int i) { distinct -= --count[v[i]] == 0; };
    for (const Query& k : queries) {
        while (l > k.l) add(--l);
        while (r < k.r) add(r++);
        while (l < k.l) drop(l++);
        while (r > k.r) drop(--r);
        answer[k.id] = distinct;
    }
    copy(answer.begin(), answer.end(), ostream_iterator<int>(cout, "\n"));
}
