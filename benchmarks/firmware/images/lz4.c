#include <stdio.h>
#include <string.h>

#include "lz4.h"
#include "lz4hc.h"
#include "text.h"

static unsigned char text[20000], packed[24000], again[20000];

static void check(const char *name, int size) {
  int back = LZ4_decompress_safe((char *)packed, (char *)again, size, sizeof again);
  printf("%s %d %x %d\n", name, size, sum_of(packed, (size_t)size), memcmp(text, again, (size_t)back));
}

int main(void) {
  make_text(text, sizeof text);
  check("fast", LZ4_compress_default((char *)text, (char *)packed, sizeof text, sizeof packed));
  check("hc", LZ4_compress_HC((char *)text, (char *)packed, sizeof text, sizeof packed, 9));
  return 0;
}
