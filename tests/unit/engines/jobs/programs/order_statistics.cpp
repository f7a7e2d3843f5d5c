#include <bits/stdc++.h>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/priority_queue.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <ext/rope>
using namespace std;
using namespace __gnu_pbds;

template <class T>
using Ordered = tree<T, null_type, less<T>, rb_tree_tag, tree_order_statistics_node_update>;

int main() {
    Ordered<pair<int, int>> t;
    gp_hash_table<int, int> counts;
    cc_hash_table<int, int> chained;
    __gnu_pbds::priority_queue<int, greater<int>, pairing_heap_tag> heap, other;
    for (int i = 0; i < 50; i++) {
        t.insert({i * 13 % 17, i});
        counts[i % 7] += i;
        chained[i % 5]++;
        (i % 2 ? heap : other).push(i * 19 % 41);
    }
    heap.join(other);
    cout << t.order_of_key({5, 0}) << ' ' << t.find_by_order(10)->second << counts[3] << chained[2] << '\n';
    cout << heap.top() << ' ' << heap.size() << ' ' << other.empty() << '\n';
    __gnu_cxx::crope text("hello rope");
    text.insert(5, ", dear");
    text += text.substr(0, 3);
    text.erase(1, 2);
    cout << text << ' ' << text.size() << '\n';
}
