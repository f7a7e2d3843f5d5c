#include <bits/stdc++.h>
using namespace std;
using namespace std::placeholders;

struct Account {
    long balance;
    long deposit(long amount, int times) { return balance += amount * times; }
};

static int power(int base, int e) { return e ? base * power(base, e - 1) : 1; }

int main() {
    map<string, function<double(double, double)>> ops{
        {"+", plus<double>()}, {"^", [](double a, double b) { return pow(a, b); }}, {"/", divides<double>()}};
    string token;
    stack<double> st;
    while (cin >> token) {
        auto op = ops.find(token);
        if (op == ops.end()) { st.push(stod(token)); continue; }
        double b = st.top();
        st.pop();
        st.top() = op->second(st.top(), b);
    }
    Account acc{10};
    auto twice = bind(&Account::deposit, &acc, _1, 2);
    auto cube = bind(power, _1, 3);
    auto flipped = bind(power, _2, _1);
    function<long long(int)> fact = [&fact](int n) { return n < 2 ? 1LL : n * fact(n - 1); };
    cout << twice(5) << ' ' << cube(3) << ' ' << flipped(2, 7) << ' ' << fact(15) << ' ' << st.size() << '\n';
    vector<reference_wrapper<long>> refs{ref(acc.balance)};
    refs[0].get() += 5;
    function<void()> none;
    try { none(); } catch (const bad_function_call&) { cout << acc.balance << mem_fn(&Account::balance)(acc) << '\n'; }
    if (!st.empty()) cout << setprecision(12) << st.top() << '\n';
}
