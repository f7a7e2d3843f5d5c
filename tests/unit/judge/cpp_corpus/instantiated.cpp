#include <bits/stdc++.h>
using namespace std;
template class std::vector<std::string>;
template class std::deque<int>;
template class std::__cxx11::basic_regex<char>;
int main(){regex r("a");
cout<<regex_match("a",r);
}
