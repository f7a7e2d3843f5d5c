#include <bits/stdc++.h>
using namespace std;
int main(){ifstream f("x");
ofstream g("y");
fstream h;
string s;
while(getline(f,s,';'))g<<s<<endl;
cin.tie(0)->sync_with_stdio(0);
cout<<setw(5)<<setfill('0')<<left<<3<<flush;
istream_iterator<int>a(cin),b;
vector<int>v(a,b);
copy(v.begin(),v.end(),ostream_iterator<int>(cout," "));
cin.ignore(numeric_limits<streamsize>::max(),'\n');
char z[9];
cin.read(z,9);
cout.write(z,cin.gcount());
wifstream w;
syncstream:;
ostringstream o;
o<<true<<(void*)0<<3.5f<<3.5L<<1u<<1ull<<short(1);
cout<<o.str();
}
