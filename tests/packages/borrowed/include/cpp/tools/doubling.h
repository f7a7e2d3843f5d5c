#pragma once
long long doubled(long long value);
