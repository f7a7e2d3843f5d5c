#include <bits/stdc++.h>
using namespace std;

template <class T, class Join> class SegmentTree {
    int size;
    vector<T> node;
    Join join;
public:
    SegmentTree(const vector<T>& v, T zero, Join j) : size(1), join(j) {
        while (size < int(v.size())) size *= 2;
        node.assign(2 * size, zero);
        copy(v.begin(), v.end(), node.begin() + size);
        for (int i = size - 1; i; i--) node[i] = join(node[2 * i], node[2 * i + 1]);
    }
    void put(int i, T x) {
        for (node[i += size] = x; i /= 2;) node[i] = join(node[2 * i], node[2 * i + 1]);
    }
    T ask(int l, int r, T left, T right) const {
        for (l += size, r += size; l < r; l /= 2, r /= 2) {
            if (l & 1) left = join(left, node[l++]);
            if (r & 1) right = join(node[--r], right);
        }
        return join(left, right);
    }
};

int main() {
    auto smaller = [](const pair<int, int>& a, const pair<int, int>& b) { return min(a, b); };
    vector<pair<int, int>> v;
    for (int i = 0; i < 50; i++) v.push_back({i * 37 % 101, i});
    SegmentTree<pair<int, int>, decltype(smaller)> least(v, {INT_MAX, -1}, smaller);
    SegmentTree<string, plus<string>> text(vector<string>{"a", "b", "c", "d", "e"}, "", plus<string>());
    text.put(2, "[c]");
    cout << text.ask(1, 4, "<", ">") << ' ' << least.ask(3, 30, v[0], v[1]).second << '\n';
}
