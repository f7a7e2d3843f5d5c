#include <bits/stdc++.h>
using namespace std;

struct Cell {
    int x, y;
    bool operator==(const Cell& o) const { return x == o.x && y == o.y; }
};

namespace std {
template <>
struct hash<Cell> {
    size_t operator()(const Cell& c) const { return hash<long long>()(c.x * 1000003LL ^ c.y); }
};
}  // namespace std

struct Mix {
    size_t operator()(uint64_t x) const { return (x ^ (x >> 31)) * 0x9e3779b97f4a7c15ULL; }
};

int main() {
    unordered_map<Cell, int> dist{{{0, 0}, 0}};
    queue<Cell> q({{0, 0}});
    for (; dist.size() < 500; q.pop())
        for (int d = 0; d < 4; d++) {
            Cell c{q.front().x + (d == 0) - (d == 1), q.front().y + (d == 2) - (d == 3)};
            if (dist.emplace(c, dist[q.front()] + 1).second) q.push(c);
        }
    unordered_set<uint64_t, Mix> ids;
    unordered_multimap<string, int> tags;
    for (auto& p : dist) ids.insert(uint64_t(p.first.x * 7 + p.first.y)), tags.emplace(to_string(p.second), p.first.x);
    auto range = tags.equal_range("3");
    cout << ids.size() << ' ' << distance(range.first, range.second) << ' ' << dist.count({2, 2}) << '\n';
    ids.reserve(4096);
    cout << ids.erase(3) << (ids.find(3) == ids.end()) << (ids.load_factor() <= ids.max_load_factor()) << '\n';
}
