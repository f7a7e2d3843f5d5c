// validate INPUT ANSWER FEEDBACK/ --almost POINTS, the output on standard input. Exit code 42: worth something, 43: wrong.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

static std::string feedback;

static void write(const char *file, const std::string &text) {
  std::ofstream(feedback + "/" + file) << text << std::endl;
}

[[noreturn]] static void wrong(const std::string &text) {
  write("judgemessage.txt", text);
  std::exit(43);
}

int main(int argc, char **argv) {
  if (argc != 6 || std::strcmp(argv[4], "--almost") != 0) return 1;
  feedback = argv[3];
  std::ifstream input(argv[1]), answer(argv[2]);
  std::size_t n, fewest;
  int width;
  if (!(input >> n >> width) || !(answer >> fewest)) return 1;
  std::vector<int> room;
  for (std::size_t i = 0; i < n; i++) {
    int book, shelf;
    if (!(input >> book)) return 1;
    if (!(std::cin >> shelf)) wrong("a book has no shelf");
    if (shelf < 1 || shelf > (int)n) wrong("there is no such shelf");
    if (shelf > (int)room.size()) room.resize(shelf, width);
    if ((room[shelf - 1] -= book) < 0) wrong("a shelf is too full");
  }
  std::string more;
  if (std::cin >> more) wrong("something follows the last book");
  for (int left : room)
    if (left == width) wrong("a shelf is empty");
  if (room.size() < fewest) return 1;
  if (room.size() > fewest + 1) wrong("too many shelves");
  write("score.txt", room.size() == fewest ? "50" : argv[5]);
  write("judgemessage.txt", std::to_string(room.size()) + " shelves where " + std::to_string(fewest) + " will do");
  return 42;
}
