#include <bits/stdc++.h>
using namespace std;

constexpr int LIMIT = 2000;

int main() {
    bitset<LIMIT + 1> reach;
    reach.set(0);
    for (int i = 1, w = 17; i <= 20; i++, w = w * 31 % 97) reach |= reach << (w + 1);
    int best = LIMIT;
    while (!reach.test(best)) best--;
    cout << reach.count() << ' ' << best << ' ' << reach._Find_first() << ' ' << reach._Find_next(40) << '\n';
    bitset<8> a("10110010"), b(0x5a);
    cout << (a & b) << ' ' << (a ^ b) << ' ' << (~a >> 2) << ' ' << a.to_ulong() << b.to_string('.', '#') << '\n';
    a.flip(3);
    a[0] = b[1];
    cout << a.any() << a.none() << (a.flip().all()) << (a == b) << hash<bitset<8>>()(a) % 2 << '\n';
    cout << __builtin_popcountll(b.to_ullong()) << __builtin_ctz(8) << __lg(100) << '\n';
    cin >> a;
    vector<bool> flags(64, true);
    flags[5].flip();
    cout << a << count(flags.begin(), flags.end(), false) << '\n';
}
