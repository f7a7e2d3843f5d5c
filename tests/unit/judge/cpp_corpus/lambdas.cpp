#include <bits/stdc++.h>
using namespace std;
auto a=[]{return 1;
};
auto b=[](auto x){return x+1;
};
struct{int q=3;
}an;
template<class F>int call(F f){static int n=0;
return f()+n++;
}
int main(){auto c=[]{return [&]{return 5;
};
};
cout<<a()<<b(2)<<call(c())<<call(a)<<an.q;
}
