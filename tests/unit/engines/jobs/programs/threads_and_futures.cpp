#include <bits/stdc++.h>
using namespace std;

mutex guard;
condition_variable ready;
atomic<int> done(0);
thread_local long long sum_of_thread = 0;

long long work(int from, int to) {
    for (++done; from < to; to--) sum_of_thread += to % 7;
    return sum_of_thread;
}

int main() {
    vector<future<long long>> parts;
    for (int i = 0; i < 4; i++) parts.push_back(async(launch::async, work, i * 1000, (i + 1) * 1000));
    long long total = 0;
    for (auto& p : parts) total += p.get();
    queue<int> items;
    thread producer([&items] {
        for (int i = 5; i >= 0; i--) {
            lock_guard<mutex> lock(guard);
            items.push(i);
            ready.notify_one();
        }
    });
    for (int item = 1; item;) {
        unique_lock<mutex> lock(guard);
        ready.wait(lock, [&items] { return !items.empty(); });
        total += item = items.front();
        items.pop();
    }
    producer.join();
    cout << total << ' ' << done << endl;
}
