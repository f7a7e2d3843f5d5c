#pragma once

int weight_of(long long i, int p, int q, int m);
