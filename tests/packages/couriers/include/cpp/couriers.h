// The first courier reads the letter; what it says is all that the second one hears. There is room for 255 characters.
void carry(const char* letter, char* said);
void deliver(const char* carried, char* said);
