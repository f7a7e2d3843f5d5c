#include <bits/stdc++.h>
using namespace std;

struct Grouped : numpunct<char> {
    char do_thousands_sep() const override { return '\''; }
    string do_grouping() const override { return "\3"; }
};

int main() {
    locale grouped(locale::classic(), new Grouped);
    cout.imbue(grouped);
    cout << 1234567 << ' ' << use_facet<ctype<char>>(grouped).toupper('q') << isdigit('5', grouped) << '\n';
    ofstream("numbers.tmp") << 1 << ' ' << 2 << ' ' << 3.5;
    ifstream in("numbers.tmp");
    double sum = 0;
    for (double x; in >> x;) sum += x;
    in.close();
    fstream both("numbers.tmp", ios::in | ios::out | ios::ate);
    cout << sum << ' ' << both.tellg() << '\n';
#if __cplusplus >= 201703L
    namespace fs = filesystem;
    fs::path p = fs::path("a") / "b.txt";
    error_code error;
    cout << p.extension() << p.parent_path() << fs::file_size("numbers.tmp", error) << '\n';
#endif
    wstring wide = L"wide";
    cout << wide.size() << (remove("numbers.tmp") == 0) << '\n';
}
