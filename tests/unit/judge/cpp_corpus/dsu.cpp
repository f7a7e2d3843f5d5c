#include <bits/stdc++.h>
using namespace std;
int p[200001];
int f(int x){return p[x]==x?x:p[x]=f(p[x]);
}
int main(){int n,m;
cin>>n>>m;
iota(p,p+n+1,0);
while(m--){int a,b;
cin>>a>>b;
p[f(a)]=f(b);
}set<int>s;
for(int i=1; i<=n; i++)s.insert(f(i));
cout<<s.size()<<endl;
}
