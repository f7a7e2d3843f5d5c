int main() {
  int n;
  std::scanf("%d", &n);
  std::printf("! %d\n", n);
}
