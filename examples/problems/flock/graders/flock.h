#include <vector>

int evening(std::vector<int> flock);

int morning(std::vector<int> flock, int stick);
