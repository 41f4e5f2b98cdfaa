// A parallel loop.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// One iteration: pointers to the kernel's data, the iteration's index, and memory that no other thread uses meanwhile.
typedef void (*burnish_iteration)(const uint64_t *pointers, uint64_t index, char *mine);

// Calls an iteration for each index below `count`, and returns when all are done. Each of `threads` threads has `size`
// bytes of the memory. The calling thread is one of them; the others wait for the next call afterwards. The caller
// computes all iterations itself if the threads are busy with another call, or if the system starts none.
void burnish_parallel(burnish_iteration iteration, const uint64_t *pointers, uint64_t count, char *memory,
                      uint64_t size, uint64_t threads);

#ifdef __cplusplus
}
#endif
