// Calls that have to be jumps: an interpreter of threaded code.
typedef int Step(int a, int *p, int left);
extern Step *const steps[];

#define STEP(name, op)                                                                                                 \
  int name(int a, int *p, int left) {                                                                                  \
    int b = a op 7;                                                                                                    \
    p[0] = b ^ p[1];                                                                                                   \
    p[1] = b * 3 + p[2];                                                                                               \
    p[2] = p[0] - p[1];                                                                                                \
    if (left == 0)                                                                                                     \
      return b;                                                                                                        \
    __attribute__((musttail)) return steps[p[2] & 3](b, p, left - 1);                                                  \
  }

STEP(add, +)
STEP(subtract, -)
STEP(multiply, *)
STEP(mix, ^)
Step *const steps[] = {add, subtract, multiply, mix};
