#include <bits/stdc++.h>
using namespace std;
int main(){unordered_map<string,int>m;
string s;
while(cin>>s)m[s]++;
unordered_set<long>q{1,2};
unordered_multimap<int,string>z;
z.emplace(1,"x");
for(auto&[a,b]:m)cout<<a<<b;
cout<<q.size()<<z.count(1)<<hash<string_view>()(s)<<hash<double>()(1.0);
}
