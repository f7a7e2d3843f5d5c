#include <bits/stdc++.h>
using namespace std;
int main(){string s,t;
getline(cin,s);
s.insert(0,"x");
s.replace(1,2,"abc");
s.erase(1,1);
t=s.substr(1)+s+'c'+"d";
cout<<t.find("a")<<(s<t)<<t.compare(s)<<s.rfind('a');
wstring w=L"a"s;
u16string u=u"a"s;
u32string v=U"b"s;
u8string x=u8"c"s;
w+=L'b';
u+=u;
v+=v;
x+=x;
cout<<w.size()<<u.size()<<v.size()<<x.size();
stringstream q;
q<<1<<"a"<<2.5;
int a;
char c;
double d;
q>>a>>c>>d;
cout<<a<<c<<d;
string_view y=s;
y.remove_prefix(1);
cout<<y<<y.find('a');
}
