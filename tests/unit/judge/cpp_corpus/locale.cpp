#include <bits/stdc++.h>
using namespace std;
int main(){cout<<put_time(localtime(new time_t(0)),"%c")<<setprecision(3)<<fixed<<1.5<<hex<<255<<put_money(3.2)<<quoted("a");
int x;
istringstream("12")>>get_money(*new long double);
tm t;
cin>>get_time(&t,"%Y");
wcout<<L"a";
}
