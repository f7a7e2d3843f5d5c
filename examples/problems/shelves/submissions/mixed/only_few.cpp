// @EXPECTED_GRADES@ AC WA
#include <cstdio>
#include <vector>

// Tries everything as long as there is little to try, and then gives each book a shelf of its own.
int n, width, fewest = 100;
std::vector<int> w, shelf, best, room;

void place(int i) {
  if ((int)room.size() >= fewest) return;
  if (i == n) {
    fewest = room.size();
    best = shelf;
    return;
  }
  for (int s = 0; s <= (int)room.size(); s++) {
    if (s == (int)room.size()) room.push_back(width);
    if (room[s] < w[i]) continue;
    bool fresh = room[s] == width;
    room[s] -= w[i];
    shelf[i] = s + 1;
    place(i + 1);
    room[s] += w[i];
    if (fresh) {
      room.pop_back();
      return;
    }
  }
}

int main() {
  if (std::scanf("%d %d", &n, &width) != 2) return 1;
  w.resize(n), shelf.resize(n);
  for (int &x : w)
    if (std::scanf("%d", &x) != 1) return 1;
  if (n <= 8) place(0);
  for (int i = 0; i < n; i++) std::printf("%d ", n <= 8 ? best[i] : i + 1);
  std::puts("");
}
