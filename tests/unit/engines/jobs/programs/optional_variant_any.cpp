#include <bits/stdc++.h>
using namespace std;
#if __cplusplus >= 201703L
struct Circle { double r; };
struct Box { double w, h; };
using Shape = variant<monostate, Circle, Box, string>;

template <class... F> struct overloaded : F... { using F::operator()...; };
template <class... F> overloaded(F...) -> overloaded<F...>;

optional<int> parse(string_view s) {
    int x = 0;
    auto [end, error] = from_chars(s.data(), s.data() + s.size(), x);
    return error == errc() && end == s.data() + s.size() ? optional(x) : nullopt;
}

int main() {
    vector<Shape> shapes{Circle{1.5}, Box{2, 3}, "text"s, {}};
    for (auto& s : shapes)
        cout << s.index() << ' ' << visit(overloaded{[](const Circle& c) { return 3 * c.r * c.r; },
            [](const Box& b) { return b.w * b.h; }, [](const string& t) { return double(t.size()); },
            [](monostate) { return 0.0; }}, s) << '\n';
    cout << parse("42").value_or(-1) << parse("4x").has_value() << *parse("-7") << get_if<Box>(&shapes[1])->h << '\n';
    any a = 5;
    a = string("any");
    try { cout << any_cast<string&>(a) << any_cast<int>(a); } catch (const bad_any_cast&) { cout << " bad cast\n"; }
    try { cout << get<Circle>(shapes[1]).r; } catch (const bad_variant_access& e) { cout << "bad access\n"; }
    cout << holds_alternative<string>(shapes[2]) << (a.type() == typeid(string)) << parse("").has_value() << '\n';
}
#else
int main() { cout << "needs gnu++17\n"; }
#endif
