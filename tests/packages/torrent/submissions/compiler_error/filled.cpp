// 512 MiB that the program is to bring along.
int filled[1 << 27] = {1};
int main() { return filled[1]; }
