#include <bits/stdc++.h>
using namespace std;

template <class T> struct Point {
    T x, y;
    Point operator-(const Point& o) const { return {x - o.x, y - o.y}; }
    T cross(const Point& o) const { return x * o.y - y * o.x; }
    bool operator<(const Point& o) const { return tie(x, y) < tie(o.x, o.y); }
    friend ostream& operator<<(ostream& out, const Point& p) { return out << '(' << p.x << ", " << p.y << ')'; }
};

template <class T> vector<Point<T>> hull(vector<Point<T>> p) {
    sort(p.begin(), p.end());
    vector<Point<T>> h;
    for (int side = 0; side < 2; side++, reverse(p.begin(), p.end())) {
        size_t two = h.size() + 2;
        for (const auto& q : p) {
            while (h.size() >= two && (h.back() - h.end()[-2]).cross(q - h.back()) <= 0) h.pop_back();
            h.push_back(q);
        }
        h.pop_back();
    }
    return h;
}

int main() {
    vector<Point<long long>> grid;
    vector<Point<long double>> wheel;
    for (int i = 0; i < 60; i++) grid.push_back({i * 17 % 23, i * 29 % 31}), wheel.push_back({cosl(i), sinl(i) * 2});
    auto h = hull(wheel);
    long double area = 0;
    for (size_t i = 0; i < h.size(); i++) area += h[i].cross(h[(i + 1) % h.size()]) / 2;
    for (auto& p : hull(grid)) cout << p << '\n';
    cout << fixed << setprecision(9) << area << ' ' << hypot(3.0, 4.0) << floor(-0.5) << '\n';
}
