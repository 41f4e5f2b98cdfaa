// A loop whose iterations any of several threads may do.
#pragma once

#include <cstdint>

extern "C" {

// One iteration: what the kernel works on, which one it is, and memory that no other thread uses meanwhile.
typedef void (*burnish_iteration)(const uint64_t *pointers, uint64_t index, char *mine);

// Call an iteration for each index below `count`, and return when all are done. Of the memory, `size` bytes belong to
// each of `threads` threads. The calling thread is one of them; the others wait for the next call afterwards.
void burnish_parallel(burnish_iteration iteration, const uint64_t *pointers, uint64_t count, char *memory,
                      uint64_t size, uint64_t threads);
}
