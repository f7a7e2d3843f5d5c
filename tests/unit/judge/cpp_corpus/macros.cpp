#include <bits/stdc++.h>
using namespace std;
#define REP(i,n) for(int i=0; i<(int)(n); i++)
#define STR(x) #x
#define all(x) x.begin(),x.end()
int main(){vector<int>v(5);
REP(i,5)cin>>v[i];
sort(all(v));
REP(i,v.size())cout<<v[i]<<STR(a  b c);
}
