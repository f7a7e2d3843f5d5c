#include <vector>

long long crossing(int deck, std::vector<int> cars);
