constexpr long long PARTS = 4;
