#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

typedef std::pair<long long, int> Choice;  // how heavy, and which

static std::vector<Choice> choices(const std::vector<long long> &weights) {
  std::vector<Choice> all = {{0, 0}};
  for (std::size_t i = 0; i < weights.size(); i++)
    for (std::size_t j = 0, count = all.size(); j < count; j++)
      all.push_back({all[j].first + weights[i], all[j].second | 1 << i});
  std::sort(all.begin(), all.end());
  return all;
}

// Every choice of one half meets the choices of the other half.
int main() {
  int n;
  long long wanted;
  if (std::scanf("%d %lld", &n, &wanted) != 2) return 1;
  std::vector<long long> first(n / 2), second(n - n / 2);
  for (auto half : {&first, &second})
    for (long long &weight : *half)
      if (std::scanf("%lld", &weight) != 1) return 1;
  auto left = choices(first), right = choices(second);
  std::size_t i = 0, j = right.size() - 1;
  while (left[i].first + right[j].first != wanted) {
    if (left[i].first + right[j].first < wanted) i++;
    else j--;
  }
  for (int k = 0; k < n; k++)
    if ((k < n / 2 ? left[i].second >> k : right[j].second >> (k - n / 2)) & 1) std::printf("%d ", k + 1);
  std::puts("");
}
