#include <bits/stdc++.h>
using namespace std;

class Big {
    vector<uint32_t> d;

public:
    static constexpr uint32_t BASE = 1000000000;
    Big(uint64_t x = 0) { for (; x; x /= BASE) d.push_back(x % BASE); }
    explicit Big(const string& s) {
        for (size_t end = s.size(), n; end; end -= n)
            n = min<size_t>(9, end), d.push_back(uint32_t(stoul(s.substr(end - n, n))));
    }
    Big operator*(const Big& o) const {
        Big r;
        r.d.resize(d.size() + o.d.size() + 1);
        for (size_t i = 0; i < d.size(); i++)
            for (uint64_t j = 0, c = 0; j < o.d.size() || c; j++, c /= BASE)
                r.d[i + j] = uint32_t((c += r.d[i + j] + (j < o.d.size() ? uint64_t(d[i]) * o.d[j] : 0)) % BASE);
        for (; !r.d.empty() && !r.d.back();) r.d.pop_back();
        return r;
    }
    friend ostream& operator<<(ostream& out, const Big& b) {
        out << (b.d.empty() ? 0 : b.d.back());
        for (auto it = b.d.rbegin(); it != b.d.rend(); ++it)
            if (it != b.d.rbegin()) out << setw(9) << setfill('0') << *it;
        return out;
    }
};

int main() {
    vector<Big> f{1};
    for (int i = 1; i <= 60; i++) f.push_back(f.back() * Big(i));
    cout << f[60] << '\n' << f[25] * Big("123456789012345678901234567890") << '\n';
}
