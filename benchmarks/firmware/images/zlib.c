#include <stdio.h>
#include <string.h>

#include "text.h"
#include "zlib.h"

static unsigned char text[20000], packed[24000], again[20000];

int main(void) {
  make_text(text, sizeof text);
  for (int level = 1; level <= 9; level += 4) {
    uLongf size = sizeof packed, back = sizeof again;
    int made = compress2(packed, &size, text, sizeof text, level);
    int read = uncompress(again, &back, packed, size);
    printf("%d %d %d %lu %x %d\n", level, made, read, size, sum_of(packed, size), memcmp(text, again, back));
  }
  return 0;
}
