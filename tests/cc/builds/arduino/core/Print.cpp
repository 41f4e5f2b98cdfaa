#include "Print.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

Semihosted Serial;

size_t Print::write(const uint8_t *letters, size_t count) {
  size_t written = 0;
  while (count--)
    written += write(*letters++);
  return written;
}
size_t Print::print(const char *text) { return write((const uint8_t *)text, strlen(text)); }
size_t Print::print(long number, int base) {
  char text[8 * sizeof number + 1], *at = text + sizeof text - 1;
  bool negative = number < 0 && base == 10;
  unsigned long left = negative ? -number : number;
  *at = 0;
  do {
    int digit = left % base;
    *--at = digit < 10 ? '0' + digit : 'A' + digit - 10;
    left /= base;
  } while (left);
  return (negative ? print("-") : 0) + print(at);
}
size_t Print::print(double number, int digits) {
  if (isnan(number))
    return print("nan");
  size_t written = number < 0 ? print("-") : 0;
  double rest = fabs(number) + 0.5 / pow(10, digits);
  written += print((long)rest);
  written += digits ? print(".") : 0;
  for (rest -= (long)rest; digits--; rest -= (int)rest)
    written += print((long)(rest *= 10));
  return written;
}
size_t Semihosted::write(uint8_t letter) {
  count++;
  return putchar(letter) == letter;
}
