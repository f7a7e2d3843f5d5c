#include <bits/stdc++.h>
using namespace std;
int main(){int a;
cin>>a;
string s=to_string(a)+to_string(1.5*a)+to_string(2LL*a);
cout<<stoi(s)+stod(s)<<s;
cerr<<to_wstring(a).size();
}
