#include <bits/stdc++.h>
using namespace std;
 int main(){ ios::sync_with_stdio(false);
cin.tie(nullptr);
 int n,m;
 cin>>n>>m;
 vector<vector<pair<int,int>>> g(n);
 map<int,int> c;
  for(int i=0; i<m; i++){int a,b,w;
cin>>a>>b>>w;
g[a].push_back({b,w});
g[b].emplace_back(a,w);
c[w]++;
} vector<long long> d(n,LLONG_MAX);
 priority_queue<pair<long long,int>,vector<pair<long long,int>>,greater<>> q;
 d[0]=0;
q.push({0,0});
 while(!q.empty()){auto [x,u]=q.top();
q.pop();
if(x>d[u])continue;
for(auto&[v,w]:g[u])if(d[v]>x+w){d[v]=x+w;
q.push({d[v],v});
}} sort(d.begin(),d.end());
for(auto x:d)cout<<x<<' ';
cout<<c.size()<<"\n";
}
