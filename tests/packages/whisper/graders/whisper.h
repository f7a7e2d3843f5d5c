#pragma once
long long soft(long long number);
long long loud(long long number);
