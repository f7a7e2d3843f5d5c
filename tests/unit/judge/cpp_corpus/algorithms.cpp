#include <bits/stdc++.h>
using namespace std;
int main(){vector<int>v(100);
iota(v.begin(),v.end(),0);
random_shuffle(v.begin(),v.begin()+1);
stable_sort(v.rbegin(),v.rend());
nth_element(v.begin(),v.begin()+5,v.end());
next_permutation(v.begin(),v.end());
inplace_merge(v.begin(),v.begin()+5,v.end());
partial_sum(v.begin(),v.end(),v.begin());
cout<<accumulate(v.begin(),v.end(),0LL)<<inner_product(v.begin(),v.end(),v.begin(),0)<<gcd(4,6)<<lcm(4,6)<<*lower_bound(v.begin(),v.end(),4)<<reduce(v.begin(),v.end())<<transform_reduce(v.begin(),v.end(),v.begin(),0);
sort(v.begin(),v.end(),greater<>());
make_heap(v.begin(),v.end());
sort_heap(v.begin(),v.end());
}
