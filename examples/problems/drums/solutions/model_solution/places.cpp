#include "drums.h"

static int beats_for(int n) {
  long long orders = 1, told = 1;
  for (int i = 2; i <= n; i++) orders *= i;
  int beats = 0;
  while (told < orders) told *= 2, beats++;
  return beats;
}

// Each mask is told by its place among those that are left: a number with a digit below n, one below n - 1, and so on.
std::string beat(std::vector<int> order) {
  int n = order.size();
  long long number = 0;
  for (int i = 0; i < n; i++) {
    int smaller = 0;
    for (int j = i + 1; j < n; j++) smaller += order[j] < order[i];
    number = number * (n - i) + smaller;
  }
  std::string beats;
  for (int b = beats_for(n); b--;) beats += number >> b & 1 ? 'L' : 's';
  return beats;
}

std::vector<int> hear(int n, std::string beats) {
  long long number = 0;
  for (char c : beats) number = 2 * number + (c == 'L');
  std::vector<int> digits(n), left, order;
  for (int i = n - 1; i >= 0; i--) digits[i] = number % (n - i), number /= n - i;
  for (int i = 0; i < n; i++) left.push_back(i);
  for (int digit : digits) {
    order.push_back(left[digit]);
    left.erase(left.begin() + digit);
  }
  return order;
}
