#include <bits/stdc++.h>
using namespace std;
int main(){string s;
cin>>s;
regex r("a+b*");
smatch m;
cout<<regex_match(s,m,r)<<m.size();
regex q(s,regex::icase);
cout<<regex_replace(s,q,"x");
}
