/* Made by burnish for znver3.
 *
 * Arrays are dense, in C order:
 *   const float input0[16][16]
 *   const float input1[16][32]
 *   float output0[16][32]
 * Outputs share no memory with other arguments; their previous values are ignored. Inputs at multiples of
 * 64 bytes are read faster. Calls with other outputs may run on other threads.
 */
#ifndef MATMUL_16X32X16_H
#define MATMUL_16X32X16_H

#ifdef __cplusplus
extern "C" {
#endif

void matmul_16x32x16(const float *input0, const float *input1, float *output0);

#ifdef __cplusplus
}
#endif

#endif
