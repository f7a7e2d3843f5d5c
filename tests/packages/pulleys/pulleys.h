#ifndef PULLEYS_H
#define PULLEYS_H
#ifdef __cplusplus
extern "C"
#endif
long long pull(long long load);
#endif
