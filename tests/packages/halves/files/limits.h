#pragma once
constexpr long long least = 1;
