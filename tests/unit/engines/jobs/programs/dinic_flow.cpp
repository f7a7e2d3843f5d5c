#include <bits/stdc++.h>
using namespace std;
using ll = long long;
struct Edge { int to; ll room; };
vector<Edge> edges;
vector<int> out[30], level, at;

void add(int a, int b, ll c) {
    for (ll room : {c, 0LL}) out[a].push_back(int(edges.size())), edges.push_back({b, room}), swap(a, b);
}

bool reaches(int s, int t) {
    level.assign(30, -1), at.assign(30, level[s] = 0);
    queue<int> q({s});
    for (; !q.empty(); q.pop())
        for (int e : out[q.front()])
            if (edges[e].room && level[edges[e].to] < 0) level[edges[e].to] = level[q.front()] + 1, q.push(edges[e].to);
    return level[t] >= 0;
}

ll push(int v, int t, ll f) {
    for (int& i = at[v]; v != t && i < int(out[v].size()); i++) {
        Edge& e = edges[out[v][i]];
        if (level[e.to] != level[v] + 1 || !e.room) continue;
        if (ll g = push(e.to, t, min(f, e.room))) return e.room -= g, edges[out[v][i] ^ 1].room += g, g;
    }
    return v == t ? f : 0;
}

int main() {
    ll flow = 0;
    for (int i = 0; i < 200; i++) add(i * 7 % 30, i * 11 % 29, i % 13);
    while (reaches(0, 28)) while (ll f = push(0, 28, LLONG_MAX)) flow += f;
    cout << flow << '\n';
}
