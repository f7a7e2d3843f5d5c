#include <bits/stdc++.h>
using namespace std;

int main() {
    vector<int> v(12), w, sums(12), diff(12);
    iota(v.begin(), v.end(), -3);
    partial_sum(v.begin(), v.end(), sums.begin(), plus<int>());
    adjacent_difference(sums.begin(), sums.end(), diff.begin());
    cout << accumulate(v.begin(), v.end(), 0LL) << ' ' << inner_product(v.begin(), v.end(), diff.begin(), 0) << '\n';
    reverse(v.begin(), v.end());
    nth_element(v.begin(), v.begin() + 4, v.end());
    partial_sort(v.begin(), v.begin() + 3, v.end(), greater<int>());
    stable_partition(v.begin(), v.end(), [](int x) { return x & 1; });
    auto mid = partition_point(v.begin(), v.end(), [](int x) { return x & 1; });
    cout << mid - v.begin() << ' ' << *max_element(v.begin(), v.end()) << ' ' << is_sorted(v.begin(), v.end()) << '\n';
    stable_sort(v.begin(), v.end());
    v.erase(unique(v.begin(), v.end()), v.end());
    v.erase(remove_if(v.begin(), v.end(), [](int x) { return x < 0; }), v.end());
    set_intersection(v.begin(), v.end(), diff.begin(), diff.end(), back_inserter(w));
    merge(v.begin(), v.end(), w.begin(), w.end(), inserter(sums, sums.begin()));
    cout << binary_search(w.begin(), w.end(), 4) << count_if(w.begin(), w.end(), [](int x) { return x > 5; }) << '\n';
    auto eq = equal_range(sums.begin(), sums.begin() + 8, 2);
    auto mm = minmax_element(sums.begin(), sums.end());
    cout << eq.second - eq.first << ' ' << *mm.first << ' ' << *mm.second << ' ' << minmax({4, 2, 8}).second << '\n';
    string p = "abcd", q = "dabc";
    int swaps = 0;
    do swaps += is_permutation(p.begin(), p.end(), q.begin()) && p[0] < p[3];
    while (next_permutation(p.begin(), p.end()));
    cout << swaps << prev_permutation(q.begin(), q.end()) << q << *search(q.begin(), q.end(), p.begin(), p.begin() + 1);
    cout << all_of(w.begin(), w.end(), [](int x) { return x >= 0; });
    cout << lexicographical_compare(p.begin(), p.end(), q.begin(), q.end());
    generate_n(ostream_iterator<int>(cout << '\n', " "), 5, [&swaps] { return swaps /= 2; });
    for_each(w.begin(), w.end(), [](int& x) { x = -x; });
    fill_n(v.begin(), 2, w.back()), swap_ranges(v.begin(), v.begin() + 1, w.begin());
}
