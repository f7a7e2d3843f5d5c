#include <bits/stdc++.h>
#if __cplusplus < 201703L
int main() { std::puts("needs gnu++17"); }
#else
using namespace std;

vector<string_view> split(string_view s, char by) {
    vector<string_view> parts;
    for (size_t at; (at = s.find(by)) != string_view::npos; s.remove_prefix(at + 1)) parts.push_back(s.substr(0, at));
    parts.push_back(s);
    return parts;
}

int main() {
    constexpr string_view text = "12,0x1f,abc,-9,3.25,"sv;
    static_assert(text.back() == ',' && text.size() == 20);
    char buf[32];
    for (string_view part : split(text, ',')) {
        long value = 0;
        auto r = from_chars(part.begin(), part.end(), value);
        cout << quoted(part) << ' ' << (r.ec == errc::invalid_argument) << ' ' << value << '\n';
    }
    auto last = to_chars(buf, buf + sizeof buf, 255, 2);
    cout << string_view(buf, last.ptr - buf) << ' ' << split("a b"sv, ' ').size() << ' ' << size(buf) << '\n';
    auto real = to_chars(buf, buf + sizeof buf, 0.1);
    cout << string(buf, real.ptr) << ' ' << hash<string_view>{}(text) % 1000 << ' ' << text.compare(0, 2, "12") << '\n';
    cout << clamp(15, 0, 10) << gcd(12, 18) << lcm(4, 6) << reduce(begin(buf), begin(buf) + 3, 0) << '\n';
    map<string, int, less<>> m{{"k", 1}};
    m.insert_or_assign("k", 2);
    auto node = m.extract("k");
    node.key() = "moved";
    m.insert(move(node));
    cout << m.find("moved"sv)->second << as_const(m).size() << to_integer<int>(byte{7}) << '\n';
}
#endif
