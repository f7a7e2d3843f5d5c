#include <bits/stdc++.h>
using namespace std;
int main(){auto a=chrono::steady_clock::now();
this_thread::sleep_for(1ms);
cout<<(chrono::steady_clock::now()-a).count();
chrono::year_month_day y{chrono::year(2020),chrono::month(2),chrono::day(3)};
cout<<y.ok();
cout<<chrono::system_clock::to_time_t(chrono::system_clock::now());
}
