// The first courier reads the letter and writes a message, the only input of the second. Maximum: 255 characters.
void carry(const char* letter, char* said);
void deliver(const char* carried, char* said);
