#include <bits/stdc++.h>
using namespace std;
int main(){int x;
double d;
char b[99];
from_chars(b,b+9,x);
to_chars(b,b+99,x);
auto r=to_chars(b,b+99,1.5);
from_chars(b,r.ptr,d);
cout<<x<<d;
cout<<stoll("5")<<stof("1")<<strtod("1",0);
}
