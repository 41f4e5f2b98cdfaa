#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bzlib.h"
#include "text.h"

static unsigned char text[20000], packed[24000], again[20000];

void bz_internal_error(int code) {
  printf("error %d\n", code);
  exit(1);
}

int main(void) {
  unsigned size = sizeof packed, back = sizeof again;
  make_text(text, sizeof text);
  int made = BZ2_bzBuffToBuffCompress((char *)packed, &size, (char *)text, sizeof text, 1, 0, 0);
  int read = BZ2_bzBuffToBuffDecompress((char *)again, &back, (char *)packed, size, 0, 0);
  printf("%d %d %u %x %d\n", made, read, size, sum_of(packed, size), memcmp(text, again, back));
  return 0;
}
