#include <bits/stdc++.h>
using namespace std;
namespace std{ostream&operator<<(ostream&o,const pair<int,int>&p){return o<<p.first<<p.second;
}
template<>struct hash<pair<int,int>>{size_t operator()(const pair<int,int>&p)const{return p.first;
}};
}
int main(){unordered_map<pair<int,int>,int>m;
m[{1,2}]=3;
cout<<m.begin()->first;
}
