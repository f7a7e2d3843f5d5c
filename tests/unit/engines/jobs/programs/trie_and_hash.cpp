#include <bits/stdc++.h>
using namespace std;

struct Trie {
    map<char, Trie*> next;
    int words = 0;
    ~Trie() { for (auto& p : next) delete p.second; }
    void add(const char* s) {
        Trie* t = this;
        for (; *s; t = t->next[*s++]) if (!t->next.count(*s)) t->next[*s] = new Trie;
        t->words++;
    }
    void dump(string prefix, vector<string>& out) const {
        if (words) out.push_back(prefix);
        for (auto& p : next) p.second->dump(prefix + p.first, out);
    }
};

const uint64_t BASE = 911382323, MOD = (1ULL << 61) - 1;
uint64_t step(uint64_t h, char c) { return uint64_t((__uint128_t(h) * BASE + uint64_t(c)) % MOD); }

int main() {
    Trie trie;
    string s(istreambuf_iterator<char>(cin), {}), word = "abra";
    vector<uint64_t> h(1), p(1, 1);
    for (char c : s) h.push_back(step(h.back(), c)), p.push_back(step(p.back(), 0));
    uint64_t want = accumulate(word.begin(), word.end(), uint64_t(0), step);
    for (size_t i = 0; i + word.size() <= s.size(); i++) {
        trie.add(s.substr(i, word.size()).c_str());
        if ((h[i + 4] + MOD - uint64_t(__uint128_t(h[i]) * p[4] % MOD)) % MOD == want) cout << "at " << i << '\n';
    }
    vector<string> words;
    trie.dump("", words);
    for (const string& w : words) cout << w << (hash<string>()(w) == hash<string>()(word) ? "!\n" : "\n");
}
