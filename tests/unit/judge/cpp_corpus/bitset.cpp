#include <bits/stdc++.h>
using namespace std;
int main(){bitset<100>b(string("101"));
cin>>b;
cout<<b<<b.count()<<b.to_string()<<(b<<3).to_ulong();
valarray<double>v{1,2,3};
cout<<v.sum()<<sqrt(v)[1];
complex<double>c(1,2);
cin>>c;
cout<<c*c<<exp(c)<<pow(c,c);
}
