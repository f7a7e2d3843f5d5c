// 512 MiB of initialized data in the program.
int filled[1 << 27] = {1};
int main() { return filled[1]; }
