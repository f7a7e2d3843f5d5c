#include <bits/stdc++.h>
using namespace std;
int main(){list<int>l{3,1};
l.sort();
forward_list<string>f{"b","a"};
f.sort();
deque<int>d;
d.push_front(1);
stack<int>s;
s.push(1);
priority_queue<pair<int,int>>q;
q.emplace(1,2);
multiset<int>m{1,1};
map<string,map<int,vector<string>>>z;
z["a"][1].push_back("b");
cout<<l.front()<<f.front()<<d[0]<<s.top()<<q.top().first<<m.count(1)<<z.size();
}
