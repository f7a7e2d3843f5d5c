// Leaks are not looked for: the one who looks traces the process, which the proctor does not allow.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
