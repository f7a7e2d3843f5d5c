#include <bits/stdc++.h>
using namespace std;
using cd = complex<double>;

void fft(vector<cd>& a, bool invert) {
    size_t n = a.size();
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) swap(a[i], a[j]);
    }
    for (size_t len = 2; len <= n; len <<= 1) {
        cd root = polar(1.0, 2 * M_PI / double(len) * (invert ? -1 : 1));
        for (size_t i = 0; i < n; i += len) {
            cd w = 1;
            for (size_t k = 0; k < len / 2; k++, w *= root) {
                cd u = a[i + k], v = a[i + k + len / 2] * w;
                a[i + k] = u + v, a[i + k + len / 2] = u - v;
            }
        }
    }
    if (invert) for (cd& x : a) x /= double(n);
}

int main() {
    vector<cd> a(16), b(16);
    for (int i = 0; i < 8; i++) a[i] = i + 1, b[i] = cd(9 - i, 0);
    fft(a, false), fft(b, false);
    transform(a.begin(), a.end(), b.begin(), a.begin(), multiplies<cd>());
    fft(a, true);
    for (cd x : a) cout << llround(x.real()) << ' ';
    cout << abs(cd(3, 4)) << ' ' << norm(cd(1, 2)) << conj(cd(1, 1)) << arg(cd(0, 1)) << exp(cd(0, 0)) << '\n';
}
