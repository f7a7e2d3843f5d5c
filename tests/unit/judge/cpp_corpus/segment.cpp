#include <bits/stdc++.h>
using namespace std;
template<class T>struct S{int n;
vector<T>t;
S(int n):n(n),t(2*n){}
void set(int i,T v){for(t[i+=n]=v; i>1; i/=2)t[i/2]=max(t[i],t[i^1]);
}T get(int l,int r){T s=0;
for(l+=n,r+=n; l<r; l/=2,r/=2){if(l&1)s=max(s,t[l++]);
if(r&1)s=max(s,t[--r]);
}return s;
}};
int main(){S<long long>s(8);
s.set(3,4);
cout<<s.get(0,8);
}
