#include <bits/stdc++.h>
using namespace std;
int main(){auto p=make_shared<string>("a");
weak_ptr<string>w=p;
cout<<*w.lock()<<p.use_count();
unique_ptr<int[]>u(new int[3]);
pmr::monotonic_buffer_resource r;
pmr::vector<int>v(&r);
v.push_back(1);
pmr::string s("a",&r);
cout<<v.size()<<s;
enable_shared_from_this<int>*q=0;
atomic<shared_ptr<int>>k;
k.store(make_shared<int>(3));
cout<<*k.load();
}
