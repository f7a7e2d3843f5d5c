#include <bits/stdc++.h>
using namespace std;

template <class C> void show(const char* name, const C& c) {
    cout << name;
    for (const auto& x : c) cout << ' ' << x;
    cout << endl;
}

int main() {
    list<int> a{5, 1, 4, 1, 5}, b{2, 2, 9};
    a.sort();
    a.unique();
    a.merge(b);
    a.splice(a.begin(), a, prev(a.end()));
    a.remove_if([](int x) { return x % 2 == 0; });
    show("list", a);
    forward_list<string> f{"c", "a", "b"};
    f.insert_after(f.before_begin(), "first");
    f.reverse();
    f.sort(greater<string>());
    show("forward", f);
    deque<int> window;
    vector<int> values(40), best;
    for (size_t i = 0; i < values.size(); i++) {
        values[i] = int(i * i * 31 % 47);
        while (!window.empty() && values[window.back()] <= values[i]) window.pop_back();
        window.push_back(int(i));
        if (window.front() + 5 <= int(i)) window.pop_front();
        best.push_back(values[window.front()]);
    }
    show("window", best);
    stack<int, vector<int>> s(best);
    cout << s.top() << ' ' << s.size() << ' ' << window[0] << '\n';
}
