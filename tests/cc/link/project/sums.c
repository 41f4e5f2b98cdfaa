#include "table.h"

int checksum(const char *text, int modulus) {
  unsigned sum = 0;
  ++calls;
  for (; *text; ++text)
    sum = sum * 31 + (unsigned char)*text;
  return sum % (modulus ? modulus : 1);
}

int never_called(int value) {
  for (int i = 0; i < 100; ++i)
    value = value * 17 + checksum("never called", value | 1) % (i + 3);
  return value;
}

static int digits(int value, int base) {
  int count = 0;
  do {
    value /= base;
    ++count;
  } while (value);
  return count;
}

int width(int value, const char *format) {
  switch (format[0]) {
  case 'd': return digits(value, 10) + (value < 0);
  case 'x': return digits(value, 16) + 2;
  case 'o': return digits(value, 8) + 1;
  case 'b': return digits(value, 2) + checksum(format, 7);
  case 's': return checksum(format + 1, value) * 3 + digits(value, 3);
  default: return checksum(format, value) / digits(value, 5);
  }
}
