#pragma once
long long ways(int steps);
