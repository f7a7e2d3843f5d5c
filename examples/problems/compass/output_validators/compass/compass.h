#include <string>

struct Place {
  long long x, y;
};

// The word that the compass says.
std::string direction(Place from, Place to);
