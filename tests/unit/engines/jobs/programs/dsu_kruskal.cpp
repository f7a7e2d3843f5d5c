#include <bits/stdc++.h>
#define all(x) (x).begin(), (x).end()
using namespace std;
typedef long long ll;
const int MAXN = 200005;
int parent[MAXN];
vector<array<ll, 3>> edges;
set<int> roots;

int root(int x) { return parent[x] < 0 ? x : parent[x] = root(parent[x]); }

bool join(int a, int b) {
    if ((a = root(a)) == (b = root(b))) return false;
    if (parent[a] > parent[b]) swap(a, b);
    parent[a] += parent[b];
    parent[b] = a;
    return true;
}

int main() {
    ios_base::sync_with_stdio(0), cin.tie(0);
    int n, m;
    cin >> n >> m;
    memset(parent, -1, sizeof parent);
    edges.resize(m);
    for (auto& e : edges) cin >> e[1] >> e[2] >> e[0];
    sort(all(edges));
    ll cost = 0;
    for (auto& e : edges)
        if (join(int(e[1]), int(e[2]))) cost += e[0];
    for (int i = 1; i <= n; i++) roots.insert(root(i));
    cout << cost << ' ' << roots.size() << endl;
}
