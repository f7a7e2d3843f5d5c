#include <bits/stdc++.h>
using namespace std;

ostream& bar(ostream& out) { return out << setfill('-') << setw(30) << "" << setfill(' ') << '\n'; }

int main() {
    double pi = acos(-1.0);
    cout << fixed << setprecision(6) << pi << ' ' << scientific << pi * 1e6 << ' ' << defaultfloat << pi << '\n' << bar;
    cout << setw(8) << left << "ab" << '|' << setw(8) << right << "ab" << '|' << setw(8) << internal << -42 << "|\n";
    cout << hex << uppercase << showbase << 48879 << ' ' << oct << 64 << dec << noshowbase << nouppercase << '\n';
    cout << showpos << 5 << noshowpos << ' ' << boolalpha << (3 > 2) << noboolalpha << showpoint << 2.0 << '\n' << bar;
    cout << hexfloat << 0.5 << defaultfloat << noshowpoint << ' ' << '\n';

    ios_base::fmtflags old = cout.flags();
    streamsize digits = cout.precision(3);
    cout.setf(ios::fixed, ios::floatfield);
    cout.width(10);
    cout.fill('*');
    cout << 1234.5678L << '\n';
    cout.flags(old);
    cout.precision(digits);
    cout.put('x').write("yz\n", 3);
    int a = 0;
    char c = 0, text[16];
    cin >> hex >> a >> noskipws >> c >> skipws;
    cin.ignore(numeric_limits<streamsize>::max(), '\n');
    cin.get(text, 16).clear();
    cout << a << int(c) << cin.gcount() << cin.peek() << text << cin.fail() << cin.eof() << endl;
    cin.exceptions(ios::failbit);
    try { cin >> a; } catch (const ios_base::failure&) { clog << "no more input" << endl; }
}
