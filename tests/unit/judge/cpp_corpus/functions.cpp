#include <bits/stdc++.h>
using namespace std;
int main(){function<int(int)>f=[&](int n){return n?n*f(n-1):1;
};
int n;
cin>>n;
cout<<f(n)<<bind(f,placeholders::_1)(3)<<mem_fn(&string::size)("ab"s);
}
