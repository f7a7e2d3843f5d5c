#include <bits/stdc++.h>
using namespace std;
void*operator new(size_t n){return malloc(n);
}
void operator delete(void*p)noexcept{free(p);
}
void operator delete(void*p,size_t)noexcept{free(p);
}
int main(){string s;
cin>>s;
map<string,int>m;
m[s]=1;
cout<<to_string(5)<<m.size();
}
