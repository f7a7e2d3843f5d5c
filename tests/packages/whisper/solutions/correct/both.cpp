#include "whisper.h"

long long soft(long long number) { return number / 2; }
long long loud(long long number) { return number * 2; }
