int hills(int);
