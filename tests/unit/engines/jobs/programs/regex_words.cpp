#include <bits/stdc++.h>
using namespace std;

int main() {
    string text((istreambuf_iterator<char>(cin)), istreambuf_iterator<char>());
    regex word("([A-Za-z]+)(-[0-9]+)?", regex::icase);
    map<string, int> seen;
    for (sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) {
        seen[(*it)[1].str()]++;
        if ((*it)[2].matched) cout << it->position() << ':' << it->str(2) << '\n';
    }
    cout << regex_replace(text, regex("\\s+"), " ") << '\n';
    smatch m;
    if (regex_match(text, m, regex("(\\w+)[^]*"))) cout << m[1] << '\n';
    for (auto& p : seen) cout << p.first << ' ' << p.second << '\n';
}
