#include <bits/stdc++.h>
using namespace std;
int main(){variant<int,string>v=3;
int a;
cin>>a;
if(a)v="x"s;
visit([](auto&&x){cout<<x; },v);
optional<int>o;
cout<<o.value_or(4);
any z=5;
cout<<any_cast<int>(z);
try{cout<<o.value();
}catch(bad_optional_access&e){cout<<e.what();
}}
