#include "drums.h"

#include <algorithm>

// Writes all orders down, one by one.
static std::vector<std::vector<int>> book(int n, std::vector<int> last) {
  std::vector<int> order;
  for (int i = 0; i < n; i++) order.push_back(i);
  std::vector<std::vector<int>> pages = {order};
  while (order != last && std::next_permutation(order.begin(), order.end())) pages.push_back(order);
  return pages;
}

std::string beat(std::vector<int> order) {
  int number = book(order.size(), order).size() - 1, orders = 1;
  for (int i = 2; i <= (int)order.size(); i++) orders *= i;
  std::string beats;
  for (orders--; orders; orders /= 2, number /= 2) beats += number % 2 ? 'L' : 's';
  return beats;
}

std::vector<int> hear(int n, std::string beats) {
  int number = 0;
  while (!beats.empty()) number = 2 * number + (beats.back() == 'L'), beats.pop_back();
  return book(n, {}).at(number);
}
