// Inline assembly, and assembly that jumps (callbr).
volatile int sink;

#define CHECKED(name, step)                                                                                            \
  int name(int a, int *p) {                                                                                            \
    int b = a * 7 + 3;                                                                                                 \
    sink = b ^ a;                                                                                                      \
    __asm__ volatile("addl $%c1, %0" : "+r"(b) : "i"(step));                                                           \
    __asm__ goto("testl %0, %0\n\tjs %l[negative]" : : "r"(b) : "cc" : negative);                                      \
    sink = b + *p;                                                                                                     \
    *p = b * 5;                                                                                                        \
    sink = *p ^ b;                                                                                                     \
    return b;                                                                                                          \
  negative:                                                                                                            \
    sink = -b;                                                                                                         \
    *p = b ^ 9;                                                                                                        \
    return -b;                                                                                                         \
  }

CHECKED(one, 1)
CHECKED(two, 2)
CHECKED(three, 3)
CHECKED(four, 4)
