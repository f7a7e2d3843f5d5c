#include <cstdio>
#include <cstdlib>

int n, w[100], best = 1 << 30;
char now[101], chosen[101];

void place(int i, int difference) {
  if (i == n) {
    if (abs(difference) < best) {
      best = abs(difference);
      for (int j = 0; j < n; j++) chosen[j] = now[j];
    }
    return;
  }
  now[i] = 'A', place(i + 1, difference + w[i]);
  now[i] = 'B', place(i + 1, difference - w[i]);
}

int main() {
  if (scanf("%d", &n) != 1) return 1;
  for (int i = 0; i < n; i++)
    if (scanf("%d", &w[i]) != 1) return 1;
  place(0, 0);
  puts(chosen);
}
