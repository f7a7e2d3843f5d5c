#include <string>

// The first courier reads the letter; what it says is all that the second one hears.
std::string carry(const std::string& letter);
std::string deliver(const std::string& carried);
