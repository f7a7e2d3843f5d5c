#include <bits/stdc++.h>
using namespace std;
int main(){vector<int>v{3,1,2};
ranges::sort(v);
for(int x:v|views::filter([](int x){return x>1; })|views::transform([](int x){return x*x; })|views::take(3))cout<<x;
cout<<ranges::max(v)<<*ranges::find(v,3);
for(int i:views::iota(1,4)|views::reverse)cout<<i;
string s;
for(auto p:views::split("a b"sv,' '))cout<<p.size();
istringstream q("1 2");
for(int x:ranges::istream_view<int>(q))cout<<x;
}
