#include <bits/stdc++.h>
using namespace std;

template <class T>
struct Pool {
    using value_type = T;
    Pool() = default;
    template <class U> Pool(const Pool<U>&) {}
    T* allocate(size_t n) {
        size_t at = used();
        if ((used() += (n * sizeof(T) + 15) & ~size_t(15)) > sizeof memory()) throw bad_alloc();
        return reinterpret_cast<T*>(memory() + at);
    }
    void deallocate(T*, size_t) {}
    static size_t& used() { static size_t u; return u; }
    static char (&memory())[1 << 16] { alignas(16) static char b[1 << 16]; return b; }
    bool operator==(const Pool&) const { return true; }
    bool operator!=(const Pool&) const { return false; }
};

int main() {
    vector<int, Pool<int>> v{3, 1, 2};
    map<int, double, less<int>, Pool<pair<const int, double>>> m;
    basic_string<char, char_traits<char>, Pool<char>> s(40, 'p');
    for (int i = 0; i < 50; i++) v.push_back(i), m[i % 9] += i;
    try { v.resize(100000); } catch (const bad_alloc&) { cout << "full\n"; }
    cout << v.size() << ' ' << m[4] << ' ' << s << ' ' << Pool<int>::used() << '\n';
#if __cplusplus >= 201703L
    array<byte, 4096> buffer;
    pmr::monotonic_buffer_resource arena(buffer.data(), buffer.size());
    pmr::vector<pmr::string> words({"one", "a rather long word that needs memory"}, &arena);
    pmr::unordered_map<int, int> counts({{1, 2}}, 8, &arena);
    cout << words.back() << counts[1] << (words[0].get_allocator().resource() == &arena) << '\n';
#endif
}
