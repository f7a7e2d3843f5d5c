#include <cstdio>
#include <vector>

int n, d;
std::vector<int> b, now;

// Prints every relay there is, in case it is the longest, again and again.
void from(int i) {
  for (int j = i + 1; j < n; j++) {
    if (i >= 0 && b[j] - b[i] < d) continue;
    now.push_back(j);
    for (int k : now) printf("runner number %d, whose shirt says %d, gives the baton to the next of all the runners who may have it; ", k + 1, b[k]);
    puts("");
    from(j);
    now.pop_back();
  }
}

int main() {
  if (scanf("%d %d", &n, &d) != 2) return 1;
  b.resize(n);
  for (int &x : b)
    if (scanf("%d", &x) != 1) return 1;
  while (n > 12) from(-1);
  std::vector<int> len(n, 1), next(n, -1);
  int first = n - 1;
  for (int i = n - 1; i >= 0; i--) {
    for (int j = i + 1; j < n; j++)
      if (b[j] >= b[i] + d && len[j] + 1 > len[i]) len[i] = len[j] + 1, next[i] = j;
    if (len[i] > len[first]) first = i;
  }
  printf("%d\n", len[first]);
  for (int i = first; i >= 0; i = next[i]) printf("%d ", i + 1);
  puts("");
}
