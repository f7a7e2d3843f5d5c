#include "weights.h"

int main() { return weight_of(1, 2, 3, 4); }
