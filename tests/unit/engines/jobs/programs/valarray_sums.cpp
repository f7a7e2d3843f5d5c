#include <bits/stdc++.h>
using namespace std;

int main() {
    valarray<double> v(12);
    iota(begin(v), end(v), 1.0);
    valarray<double> squares = v * v, roots = sqrt(v + 0.25);
    cout << v.sum() << ' ' << squares.max() << ' ' << roots.min() << ' ' << (v * roots).sum() << '\n';
    valarray<double> row = v[slice(4, 4, 1)], column(v[slice(1, 3, 4)]);
    v[slice(0, 4, 1)] = row;
    v[slice(0, 4, 1)] += valarray<double>(column.sum(), 4);
    valarray<bool> small = v < 9.0;
    v[small] = 0.0;
    v[gslice(1, {2, 2}, {4, 1})] *= valarray<double>(2.0, 4);
    valarray<double> turned = v.cshift(2).apply([](double x) { return x > 10 ? x - 10 : x; });
    for (double x : turned) cout << x << ' ';
    cout << '\n' << pow(row, 2.0).sum() << ' ' << abs(-row)[2] << ' ' << v.shift(-1)[0] << '\n';
}
