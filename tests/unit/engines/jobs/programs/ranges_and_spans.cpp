#include <bits/stdc++.h>
using namespace std;
#if __cplusplus >= 202002L
template <class T>
concept Number = integral<T> || floating_point<T>;

Number auto total(span<const int> s) { return accumulate(s.begin(), s.end(), 0LL); }

struct Version {
    int major, minor;
    auto operator<=>(const Version&) const = default;
};

consteval int cube(int x) { return x * x * x; }

int main() {
    vector<int> v(20);
    ranges::generate(v, [i = 0]() mutable { return i++ * 7 % 20; });
    ranges::sort(v, greater{});
    auto odd = v | views::filter([](int x) { return x % 2; }) | views::transform([](int x) { return x * x; });
    for (int x : odd | views::take(4)) cout << x << ' ';
    for (int x : views::iota(1, 6) | views::reverse) cout << x * cube(2) << ' ';
    array<Version, 3> a{{{1, 2}, {1, 0}, {0, 9}}};
    ranges::sort(a, {}, &Version::minor);
    auto it = ranges::lower_bound(v, 5, ranges::greater());
    cout << total({v.data(), 5}) << ' ' << a[0].major << (a[1] < a[2]) << *it << ranges::max(v) << ssize(v) << '\n';
    cout << popcount(77u) << bit_ceil(100u) << countl_zero(1u) << has_single_bit(64u) << '\n';
    cout << numbers::pi << midpoint(3, 8) << lerp(1.0, 2.0, 0.25) << erase_if(v, [](int x) { return x > 9; });
    for (auto word : "one two three"sv | views::split(' ')) cout << ' ' << ranges::distance(word);
    cout << " x"s.starts_with(' ') << map<int, int>{{1, 2}}.contains(1) << bit_cast<uint32_t>(1.0f) << endl;
    cout << (strong_ordering::less == (a[0] <=> a[1])) << ranges::equal(v, v | views::all) << endl;
}
#else
int main() { cout << "needs gnu++20" << endl; }
#endif
