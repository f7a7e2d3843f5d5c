#pragma once
#include <vector>

long long climb(const std::vector<long long>& steps);
