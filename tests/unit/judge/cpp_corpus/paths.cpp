#include <bits/stdc++.h>
using namespace std;
int main(){filesystem::path p("a/b");
p/="c";
cout<<p<<p.filename()<<exists(p);
for(auto&e:filesystem::directory_iterator("."))cout<<e;
}
