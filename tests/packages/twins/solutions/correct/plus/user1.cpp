int encode(int number) { return number + 7; }
