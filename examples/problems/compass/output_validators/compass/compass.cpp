#include "compass.h"

std::string direction(Place from, Place to) {
  const std::string north = to.y > from.y ? "N" : to.y < from.y ? "S" : "";
  const std::string east = to.x > from.x ? "E" : to.x < from.x ? "W" : "";
  return north + east;
}
