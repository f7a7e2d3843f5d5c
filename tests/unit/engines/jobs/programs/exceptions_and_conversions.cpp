#include <bits/stdc++.h>
using namespace std;

struct ParseError : invalid_argument {
    int line;
    ParseError(const string& what, int l) : invalid_argument("line " + to_string(l) + ": " + what), line(l) {}
};

struct Guard {
    function<void()> at_end;
    ~Guard() { at_end(); }
};

long long parse(const string& s, int line) {
    size_t used = 0;
    long long x = 0;
    try { x = stoll(s, &used, 0); }
    catch (const invalid_argument&) { throw ParseError("not a number", line); }
    catch (const out_of_range&) { throw_with_nested(overflow_error("too large")); }
    if (used != s.size()) throw ParseError("rest of " + s, line);
    return x;
}

int main() {
    Guard guard{[] { cout << "end" << endl; }};
    int line = 0;
    for (const char* s : {"12", "0x1F", "077", "zz", "5 apples", "99999999999999999999", "-8"}) {
        try { cout << parse(s, ++line) << endl; }
        catch (const ParseError& e) { cout << e.what() << '@' << e.line << endl; }
        catch (const exception& e) { cout << e.what() << !dynamic_cast<const nested_exception*>(&e) << endl; }
    }
    cout << stod("2.5e1") + stof(".5") << stoi("101", nullptr, 2) << to_string(-3.5) << to_string(7ULL) << endl;
    try { vector<int>(3).at(3) = 1; } catch (...) { cout << (current_exception() != nullptr) << endl; }
}
