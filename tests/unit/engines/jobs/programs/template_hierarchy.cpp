#include <bits/stdc++.h>
using namespace std;

template <class T>
struct A {
    virtual ~A() {}
    virtual T f() { return T(1); }
};
template <class T>
struct B : A<T> {
    T f() override { return T(2); }
};
template <class T>
struct C : B<T>, private vector<T> {
    T f() override { return T(3); }
};
template <class T>
struct D : C<T>, private less<T> {
    T f() override { return T(sizeof(C<T>)); }
};

int main() {
    D<int> d;
    C<long> c;
    B<char> b;
    A<int>* p = &d;
    cout << p->f() << c.f() << b.f();
}
