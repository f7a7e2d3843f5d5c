#include <bits/stdc++.h>
using namespace std;

class TwoSat {
    int n, clock = 0, groups = 0;
    vector<vector<int>> next;
    vector<int> low, group, path;
    int visit(int v) {
        int mine = low[v] = ++clock;
        path.emplace_back(v);
        for (int u : next[v])
            if (group[u] < 0) low[v] = min(low[v], low[u] ? low[u] : visit(u));
        if (low[v] != mine) return low[v];
        for (int u = -1; u != v; path.pop_back()) group[u = path.back()] = groups;
        return groups++, mine;
    }
public:
    explicit TwoSat(int vars) : n(vars), next(2 * n), low(2 * n), group(2 * n, -1) {}
    void either(int a, int b) { next[a ^ 1].push_back(b), next[b ^ 1].push_back(a); }
    vector<bool> solve() {
        for (int v = 0; v < 2 * n; v++) if (!low[v]) visit(v);
        vector<bool> value(n);
        for (int i = 0; i < n; i++) {
            if (group[2 * i] == group[2 * i + 1]) throw runtime_error("no solution");
            value[i] = group[2 * i] < group[2 * i + 1];
        }
        return value;
    }
};
int main() try {
    TwoSat sat(10), never(1);
    for (int i = 0; i < 12; i++) sat.either(i * 7 % 20, i * 3 % 20 ^ 1);
    for (bool b : sat.solve()) cout << b;
    never.either(0, 0), never.either(1, 1), never.solve();
} catch (const exception& e) { cout << ' ' << e.what() << endl; }
