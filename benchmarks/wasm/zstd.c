#include <stdio.h>
#include <string.h>

#include "text.h"
#include "zstd.h"

static unsigned char text[20000], packed[24000], again[20000];

int main(void) {
  make_text(text, sizeof text);
  for (int level = 1; level <= 9; level += 4) {
    size_t size = ZSTD_compress(packed, sizeof packed, text, sizeof text, level);
    size_t back = ZSTD_decompress(again, sizeof again, packed, size);
    printf("%d %lu %x %d\n", level, (unsigned long)size, sum_of(packed, size), memcmp(text, again, back));
  }
  return 0;
}
