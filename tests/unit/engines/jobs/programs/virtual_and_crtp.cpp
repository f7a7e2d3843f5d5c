#include <bits/stdc++.h>
using namespace std;

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
    virtual string name() const { return "shape"; }
};

template <class Self>
struct Counted {
    static int alive;
    Counted() { ++alive; }
    Counted(const Counted&) { ++alive; }
    ~Counted() { --alive; }
    string label() const { return static_cast<const Self*>(this)->name() + "#" + to_string(alive); }
};
template <class Self> int Counted<Self>::alive = 0;

struct Square final : Shape, Counted<Square> {
    double side;
    explicit Square(double s) : side(s) {}
    double area() const override { return side * side; }
    string name() const override { return "square"; }
};

map<string, function<Shape*(double)>> makers{{"square", [](double side) { return new Square(side); }}};
static const vector<string> words = [] { return vector<string>{"square", "circle", "square"}; }();

int main() {
    vector<unique_ptr<Shape>> shapes;
    for (auto& w : words) if (makers.count(w)) shapes.emplace_back(makers[w](double(shapes.size() + 2)));
    for (auto& s : shapes) if (auto* q = dynamic_cast<Square*>(s.get())) cout << q->label() << s->area() << '\n';
    cout << (typeid(*shapes[0].get()) == typeid(Square)) << Counted<Square>::alive << '\n';
}
