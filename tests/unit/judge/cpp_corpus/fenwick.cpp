#include <bits/stdc++.h>
using namespace std;
struct F{vector<long long>t;
F(int n):t(n+1){}
void add(int i,int v){for(; i<(int)t.size(); i+=i&-i)t[i]+=v;
}long long sum(int i){long long s=0;
for(; i; i-=i&-i)s+=t[i];
return s;
}};
int main(){int n;
cin>>n;
F f(n);
for(int i=1,x; i<=n; i++){cin>>x;
f.add(i,x);
}cout<<f.sum(n);
}
