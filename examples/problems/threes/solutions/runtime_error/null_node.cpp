#include <cstdio>
#include <vector>

struct Node {
  int card;
  Node *next;
};

// A list of the zeros; nobody asks whether it is at its end.
int main() {
  int n;
  if (scanf("%d", &n) != 1) return 1;
  Node *volatile zeros = nullptr;
  std::vector<int> ones, twos;
  int count = 0;
  for (int i = 0, x; i < n && scanf("%d", &x) == 1; i++) {
    if (x % 3 == 1) ones.push_back(x);
    if (x % 3 == 2) twos.push_back(x);
    if (x % 3 == 0) zeros = new Node{x, zeros}, count++;
  }
  if (count > (int)(ones.size() + twos.size()) + 1) return puts("-1"), 0;
  int spare = count - (ones.size() && twos.size());
  auto zero = [&] {
    printf("%d ", zeros->card);
    zeros = zeros->next;
  };
  if (spare > 0) zero(), spare--;
  for (size_t i = 0; i < ones.size(); i++) {
    printf("%d ", ones[i]);
    if (i + 1 == ones.size() && twos.size()) zero();
    else if (spare > 0) zero(), spare--;
  }
  for (int x : twos) {
    printf("%d ", x);
    if (spare > 0) zero(), spare--;
  }
  puts("");
}
