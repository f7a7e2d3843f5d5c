#include <string>
#include <vector>

std::string beat(std::vector<int> order);

std::vector<int> hear(int n, std::string beats);
