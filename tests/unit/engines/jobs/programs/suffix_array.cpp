#include <bits/stdc++.h>
using namespace std;

vector<int> suffixArray(const string& s) {
    int n = int(s.size());
    vector<int> sa(n), rank(s.begin(), s.end()), next(n);
    iota(sa.begin(), sa.end(), 0);
    for (int k = 1;; k *= 2) {
        auto key = [&](int i) { return make_pair(rank[i], i + k < n ? rank[i + k] : -1); };
        sort(sa.begin(), sa.end(), [&](int a, int b) { return key(a) < key(b); });
        next[sa[0]] = 0;
        for (int i = 1; i < n; i++) next[sa[i]] = next[sa[i - 1]] + (key(sa[i - 1]) < key(sa[i]));
        rank.swap(next);
        if (rank[sa[n - 1]] == n - 1 || k > n) return sa;
    }
}

int main() {
    string s;
    getline(cin, s);
    s += '$';
    vector<int> sa = suffixArray(s), rank(s.size()), lcp(s.size());
    for (size_t i = 0; i < s.size(); i++) rank[sa[i]] = int(i);
    for (size_t i = 0, h = 0; i < s.size(); i++, h -= h > 0) {
        if (!rank[i]) continue;
        for (size_t j = sa[rank[i] - 1]; i + h < s.size() && j + h < s.size() && s[i + h] == s[j + h];) h++;
        lcp[rank[i]] = int(h);
    }
    auto longest = max_element(lcp.begin(), lcp.end());
    cout << s.substr(sa[longest - lcp.begin()], *longest) << '\n';
    for (int at : sa) cout << at << ' ' << s.substr(at).c_str() << '\n';
}
