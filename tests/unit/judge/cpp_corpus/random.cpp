#include <bits/stdc++.h>
using namespace std;
int main(){mt19937 g(random_device{}());
mt19937_64 h(5);
cout<<uniform_int_distribution<int>(1,6)(g)<<normal_distribution<>()(h)<<g;
discrete_distribution<int> d{1,2};
cout<<d(g);
shuffle((int*)0,(int*)0,g);
poisson_distribution<int>q(3);
cout<<q(g);
seed_seq s{1,2};
g.seed(s);
}
