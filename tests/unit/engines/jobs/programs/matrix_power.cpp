#include <bits/stdc++.h>
using namespace std;

template <unsigned M>
struct Mod {
    unsigned v;
    constexpr Mod(unsigned long long x = 0) : v(unsigned(x % M)) {}
    Mod& operator+=(Mod o) { return *this = Mod(0ULL + v + o.v); }
    friend Mod operator*(Mod a, Mod b) { return Mod(1ULL * a.v * b.v); }
    friend ostream& operator<<(ostream& out, Mod m) { return out << m.v; }
    friend istream& operator>>(istream& in, Mod& m) { return in >> m.v; }
};

template <class T, size_t N>
struct Matrix : array<array<T, N>, N> {
    static Matrix one() {
        Matrix m{};
        for (size_t i = 0; i < N; i++) m[i][i] = 1;
        return m;
    }
    Matrix operator*(const Matrix& o) const {
        Matrix m{};
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++)
                for (size_t k = 0; k < N; k++) m[i][j] += (*this)[i][k] * o[k][j];
        return m;
    }
    Matrix power(uint64_t e) const { return e ? (*this * *this).power(e / 2) * (e & 1 ? *this : one()) : one(); }
};

int main() {
    Matrix<Mod<1000000007>, 2> fib{};
    fib[0][0] = fib[0][1] = fib[1][0] = 1;
    for (uint64_t n; cin >> n;) cout << fib.power(n)[0][1] << '\n';
}
