#pragma once
#ifdef __cplusplus
extern "C" {
#endif
int either(int a, int b);
int sum(int a);
int rows(const int *values, int count);
int shape(int kind);
#ifdef __cplusplus
}
#endif
