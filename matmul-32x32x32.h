/* Made by burnish for znver3.
 *
 * Arrays are dense, in C order:
 *   const float input0[32][32]
 *   const float input1[32][32]
 *   float output0[32][32]
 * Outputs share no memory with other arguments; their previous values are ignored. Inputs at multiples of
 * 64 bytes are read faster. Calls with other outputs may run on other threads.
 */
#ifndef MATMUL_32X32X32_H
#define MATMUL_32X32X32_H

#ifdef __cplusplus
extern "C" {
#endif

void matmul_32x32x32(const float *input0, const float *input1, float *output0);

#ifdef __cplusplus
}
#endif

#endif
