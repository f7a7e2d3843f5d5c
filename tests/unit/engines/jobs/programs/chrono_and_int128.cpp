#include <bits/stdc++.h>
using namespace std;

ostream& operator<<(ostream& out, __int128 x) {
    if (x < 0) return out << '-' << -x;
    return x < 10 ? out << char('0' + int(x)) : out << x / 10 << char('0' + int(x % 10));
}

uint64_t power(uint64_t b, uint64_t e, uint64_t m) {
    uint64_t r = 1;
    for (; e; e /= 2, b = uint64_t(__uint128_t(b) * b % m)) if (e & 1) r = uint64_t(__uint128_t(r) * b % m);
    return r;
}

bool prime(uint64_t n) {
    if (n < 2 || n % 2 == 0) return n == 2;
    int s = __builtin_ctzll(n - 1);
    for (uint64_t a : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
        uint64_t x = power(a % n, n >> s, n);
        for (int i = 1; i < s && x != n - 1 && x > 1; i++) x = power(x, 2, n);
        if (a % n && x != 1 && x != n - 1) return false;
    }
    return true;
}

int main() {
    auto start = chrono::steady_clock::now();
    __int128 f = 1;
    for (int i = 1; i <= 33; i++) f *= i;
    cout << f << ' ' << -f / 7 << ' ' << prime(1000000007) << prime(561) << prime(561 * 41) << __gcd(12, 18) << '\n';
    auto frames = chrono::duration_cast<chrono::duration<int, ratio<1, 60>>>(2500 * chrono::milliseconds(25));
    cout << frames.count() << ' ' << chrono::duration<double>(frames).count() << '\n';
    auto used = chrono::duration_cast<chrono::microseconds>(chrono::steady_clock::now() - start);
    return used.count() < 0 || clock() < 0 || time(nullptr) < chrono::system_clock::to_time_t({});
}
