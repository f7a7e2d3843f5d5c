#include <bits/stdc++.h>
using namespace std;
int main(){assert(__LINE__>0);
static_assert(__LINE__>1);
cout<<__LINE__<<__func__;
}
