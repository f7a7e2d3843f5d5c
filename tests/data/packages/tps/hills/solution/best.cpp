int hills(int a) { return a; }
