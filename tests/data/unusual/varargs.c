// Functions with any number of arguments, and code around va_arg that repeats.
#include <stdarg.h>

volatile int sink;

#define FOLD(name, op)                                                                                                 \
  int name(int count, ...) {                                                                                           \
    va_list list;                                                                                                      \
    va_start(list, count);                                                                                             \
    int result = count * 3;                                                                                            \
    for (int i = 0; i < count; i++) {                                                                                  \
      int value = va_arg(list, int);                                                                                   \
      sink = value ^ i;                                                                                                \
      result = result op(value * 5 + i);                                                                               \
      sink = result + value;                                                                                           \
    }                                                                                                                  \
    sink = result ^ count;                                                                                             \
    sink = (result >> 3) * 11 + sink;                                                                                  \
    sink = sink % 13 - count;                                                                                          \
    va_end(list);                                                                                                      \
    return result;                                                                                                     \
  }

FOLD(sum, +)
FOLD(difference, -)
FOLD(product, *)
FOLD(mask, &)

int all(int a, int b) { return sum(3, a, b, 1) + difference(2, a, b) + product(2, b, a) + mask(4, a, b, a, b); }
