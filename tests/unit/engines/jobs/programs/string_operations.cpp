#include <bits/stdc++.h>
using namespace std;

static string trim(const string& s) {
    size_t a = s.find_first_not_of(" \t"), b = s.find_last_not_of(" \t");
    return a == string::npos ? string() : s.substr(a, b - a + 1);
}

int main() {
    string s = trim("  the quick brown fox  "), t(3, 'x'), u{'a', 'b', 'c'};
    s.insert(4, "very ").replace(s.find("brown"), 5, "red").append(t).append(u, 1, 2) += '!';
    s.erase(0, 4);
    s.push_back('?');
    s.pop_back();
    reverse(u.begin(), u.end());
    transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return char(toupper(c)); });
    cout << s << ' ' << s.rfind("R") << ' ' << s.find_last_of("QX") << ' ' << s.compare("VERY") << '\n';
    vector<string> words;
    for (size_t at = 0, end; at < s.size(); at = end + 1) {
        end = min(s.find(' ', at), s.size());
        words.push_back(s.substr(at, end - at));
    }
    sort(words.begin(), words.end(), [](const string& a, const string& b) {
        return a.size() != b.size() ? a.size() < b.size() : a < b;
    });
    for (string& w : words) cout << w << '(' << w.length() << ")" << (w < u) << (w + u == u + w) << ' ';
    string big;
    big.reserve(100);
    big.resize(10, 'z');
    big.assign(u.rbegin(), u.rend());
    big.swap(t);
    cout << t.c_str() << t.at(1) << big.data()[0] << t.back() << strlen(t.c_str()) << '\n';
    try { cout << t.substr(50); } catch (const out_of_range& e) { cout << "out of range\n"; }
}
