#include <bits/stdc++.h>
using namespace std;

struct Person : enable_shared_from_this<Person> {
    string name;
    weak_ptr<Person> boss;
    vector<shared_ptr<Person>> staff;
    explicit Person(string n) : name(move(n)) {}
    ~Person() { cout << "bye " << name << '\n'; }
    void hire(const string& n) {
        staff.push_back(make_shared<Person>(n));
        staff.back()->boss = shared_from_this();
    }
};

struct Closer { void operator()(FILE* f) const { fclose(f), puts("closed"); } };

int main() {
    auto ann = make_shared<Person>("ann");
    ann->hire("bob");
    ann->hire("cid");
    weak_ptr<Person> watch = ann->staff[0];
    shared_ptr<string> alias(ann, &ann->name);
    cout << ann.use_count() << watch.expired() << watch.lock()->boss.lock()->name << *alias << endl;
    ann->staff.erase(ann->staff.begin());
    cout << watch.expired() << (watch.lock() == nullptr) << endl;
    unique_ptr<FILE, Closer> file(tmpfile());
    unique_ptr<int[]> numbers(new int[5]());
    shared_ptr<void> last(nullptr, [](void*) { cout << "last\n"; });
    numbers[3] = 7;
    cout << accumulate(numbers.get(), numbers.get() + 5, 0) << (dynamic_pointer_cast<Person>(ann) == ann) << endl;
    alias.reset();
    ann = move(ann->staff[0]);
}
