#include <bits/stdc++.h>
using namespace std;

const int LOG = 17;
vector<vector<int>> children;
vector<array<int, LOG>> up;
vector<int> depth;

void walk(int v, int p) {
    up[v][0] = p;
    for (int k = 1; k < LOG; k++) up[v][k] = up[up[v][k - 1]][k - 1];
    for (int c : children[v]) depth[c] = depth[v] + 1, walk(c, v);
}

int lca(int a, int b) {
    if (depth[a] < depth[b]) swap(a, b);
    for (int k = LOG; k--;) if (depth[a] - (1 << k) >= depth[b]) a = up[a][k];
    if (a == b) return a;
    for (int k = LOG; k--;) if (up[a][k] != up[b][k]) tie(a, b) = make_pair(up[a][k], up[b][k]);
    return up[a][0];
}

int main() {
    int n, q, p;
    if (scanf("%d%d", &n, &q) != 2) return 1;
    children.resize(n), up.resize(n), depth.resize(n);
    for (int i = 1; i < n && scanf("%d", &p) == 1; i++) children[p].push_back(i);
    walk(0, 0);
    for (int a, b; q-- && scanf("%d%d", &a, &b) == 2;)
        printf("%d %d\n", lca(a, b), depth[a] + depth[b] - 2 * depth[lca(a, b)]);
    map<int, int> perDepth;
    for_each(depth.begin(), depth.end(), [&](int d) { perDepth[d]++; });
    if (!perDepth.empty()) printf("%d:%d\n", perDepth.rbegin()->first, perDepth.rbegin()->second);
}
