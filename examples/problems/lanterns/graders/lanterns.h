#include <vector>

long long festival_glow(std::vector<int> b, int k);
