#include <bits/stdc++.h>
using namespace std;
int main(){mutex m;
int x=0;
thread t([&]{lock_guard g(m); x++; });
t.join();
auto f=async(launch::async,[&]{return x; });
cout<<f.get();
promise<int>p;
p.set_value(1);
cout<<p.get_future().get();
packaged_task<int()>k([]{return 2; });
k();
shared_mutex s;
shared_lock l(s);
condition_variable c;
c.notify_all();
}
