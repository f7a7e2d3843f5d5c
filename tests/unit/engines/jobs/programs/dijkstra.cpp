#include <bits/stdc++.h>
using namespace std;

int main() {
    ios::sync_with_stdio(false);
    cin.tie(nullptr);
    int n, m;
    if (!(cin >> n >> m)) return 0;
    vector<vector<pair<int, long long>>> adj(n);
    while (m--) {
        int a, b;
        long long w;
        cin >> a >> b >> w;
        adj[a].emplace_back(b, w);
        adj[b].emplace_back(a, w);
    }
    using State = pair<long long, int>;
    priority_queue<State, vector<State>, greater<State>> heap;
    vector<long long> dist(n, LLONG_MAX);
    heap.emplace(dist[0] = 0, 0);
    while (!heap.empty()) {
        State top = heap.top();
        heap.pop();
        if (top.first != dist[top.second]) continue;
        for (const auto& e : adj[top.second])
            if (top.first + e.second < dist[e.first]) heap.emplace(dist[e.first] = top.first + e.second, e.first);
    }
    for (int i = 0; i < n; i++) cout << (dist[i] == LLONG_MAX ? -1 : dist[i]) << " \n"[i + 1 == n];
}
