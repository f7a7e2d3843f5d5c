#include <bits/stdc++.h>
using namespace std;

constexpr int popcount(unsigned x) { return x ? 1 + popcount(x & (x - 1)) : 0; }
static_assert(popcount(0xff) == 8, "bits");
template <int... I> struct Table { static constexpr int value[] = {popcount(I)...}; };
template <int... I> constexpr int Table<I...>::value[];
using Bits = Table<0, 1, 2, 3, 4, 5, 6, 7>;

int cost[12][12], best[1 << 12][12];
unordered_map<long long, int> memo;

int tour(int mask, int at) {
    if (mask + 1 == 1 << 12) return cost[at][0];
    long long key = 12LL * mask + at;
    auto found = memo.find(key);
    if (found != memo.end()) return found->second;
    int r = numeric_limits<int>::max();
    for (int to = 0; to < 12; to++)
        if (~mask >> to & 1) r = min(r, cost[at][to] + tour(mask | 1 << to, to));
    return memo[key] = r;
}

int main() {
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 12; j++) cost[i][j] = i == j ? 0 : (i * 31 + j * 17) % 23 + 1;
    memset(best, 0x3f, sizeof best);
    best[1][0] = 0;
    for (int mask = 1; mask < 1 << 12; mask += 2)
        for (int i = 0; i < 12; i++)
            for (int j = 0; j < 12; j++)
                if (int next = mask >> i & ~mask >> j & 1 ? mask | 1 << j : 0)
                    best[next][j] = min(best[next][j], best[mask][i] + cost[i][j]);
    cout << tour(1, 0) << ' ' << *min_element(begin(best[4095]), end(best[4095])) << ' ' << Bits::value[5] << '\n';
}
