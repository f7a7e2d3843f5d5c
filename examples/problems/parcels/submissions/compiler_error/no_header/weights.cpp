int weight_of(int i, int p, int q, int m) { return (p * i * i + q * i) % m; }
