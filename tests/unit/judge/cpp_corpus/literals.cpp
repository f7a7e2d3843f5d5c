#include <bits/stdc++.h>
using namespace std;
auto r=R"x(// no )" comment /* here)x";
int main(){cout<<r<<"/* no */"<<'"'<<1'000'000<<sizeof(u8"//")<<L'/'<<"a\"//";
}
