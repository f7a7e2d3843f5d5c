// a library
