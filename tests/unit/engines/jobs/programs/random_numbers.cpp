#include <bits/stdc++.h>
using namespace std;

int main() {
    mt19937 small(12345);
    mt19937_64 large(chrono::nanoseconds(987654321).count());
    uniform_int_distribution<int> die(1, 6);
    uniform_real_distribution<double> unit(0, 1);
    normal_distribution<> bell(10, 2);
    bernoulli_distribution coin(0.3);
    discrete_distribution<int> weighted{5, 1, 4};
    exponential_distribution<float> gap(1.5f);
    poisson_distribution<int> hits(4);
    minstd_rand cheap(7);
    seed_seq seeds{1, 2, 3};
    mt19937 seeded(seeds);
    array<int, 7> faces{};
    for (int i = 0; i < 1000; i++) faces[die(small)]++;
    vector<int> p(10);
    iota(begin(p), end(p), 0);
    shuffle(p.begin(), p.end(), small);
    for (int x : p) cout << x << ' ';
    cout << fixed << setprecision(4) << unit(large) << ' ' << bell(small) << ' ' << coin(small) << weighted(large);
    cout << ' ' << gap(small) << ' ' << hits(seeded) << ' ' << cheap() << ' ' << faces[6] << ' ' << large() % 100;
    cout << ' ' << generate_canonical<double, 40>(seeded) << ' ' << mt19937::max() << '\n';
    srand(3);
    cout << (rand() <= RAND_MAX) << '\n';
}
