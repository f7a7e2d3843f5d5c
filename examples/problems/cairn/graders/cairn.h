long long height(int i);

int find_cairn(int n);
