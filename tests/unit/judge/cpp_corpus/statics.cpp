#include <bits/stdc++.h>
using namespace std;
static map<string,function<void()>>reg;
struct R{R(string n,function<void()>f){reg[n]=f;
}};
R a("x",[]{cout<<1; });
inline thread_local string tl="q";
constexpr array<int,3>z{1,2,3};
int main(){for(auto&[k,v]:reg)v();
cout<<tl<<z[1];
static vector<string>s(5,"a");
cout<<s[2];
}
