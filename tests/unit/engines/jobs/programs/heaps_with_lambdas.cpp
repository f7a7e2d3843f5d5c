#include <bits/stdc++.h>
using namespace std;

struct Task {
    string name;
    int due;
    double weight;
    friend bool operator<(const Task& a, const Task& b) { return tie(a.due, b.name) > tie(b.due, a.name); }
};

int main() {
    vector<Task> tasks;
    for (int i = 0; i < 20; i++) tasks.push_back({"task" + to_string(i), i * 7 % 11, sqrt(i + 1.0)});
    priority_queue<Task> byDue(tasks.begin(), tasks.end());
    auto lighter = [&tasks](int a, int b) { return tasks[a].weight * tasks[a].due < tasks[b].weight * tasks[b].due; };
    priority_queue<int, vector<int>, decltype(lighter)> byWeight(lighter);
    priority_queue<int, vector<int>, function<bool(int, int)>> byLast([](int a, int b) { return a % 10 < b % 10; });
    for (int i = 0; i < 20; i++) byWeight.push(i), byLast.push(i);
    for (; !byDue.empty(); byDue.pop(), byWeight.pop(), byLast.pop())
        cout << byDue.top().name << ' ' << byWeight.top() << ' ' << byLast.top() % 10 << '\n';
    vector<int> h{3, 9, 2, 7};
    make_heap(h.begin(), h.end());
    h.push_back(8);
    push_heap(h.begin(), h.end());
    pop_heap(h.begin(), h.end());
    cout << h.back() << is_heap(h.begin(), h.end() - 1) << '\n';
    sort_heap(h.begin(), h.end() - 1);
}
