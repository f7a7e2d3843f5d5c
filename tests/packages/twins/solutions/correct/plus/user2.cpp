int decode(int number) { return number - 7; }
