// Exceptions through code that repeats, with clean-up, rethrowing and nested handlers.
#include <cstdio>

struct Noisy {
  const char *name;
  ~Noisy() { std::printf("~%s ", name); }
};

volatile int sink;

__attribute__((noinline)) void check(int a) {
  if (a % 3 == 0)
    throw a;
  if (a % 5 == 0)
    throw "five";
}

#define MIX(a)                                                                                                         \
  int x = a * 31 + sink;                                                                                               \
  x ^= x >> 3;                                                                                                         \
  x = x * 17 + 5;                                                                                                      \
  check(x);                                                                                                            \
  x ^= sink;                                                                                                           \
  x *= 7;                                                                                                              \
  sink = x;

int one(int a) { MIX(a) return x; }
int two(int a) { MIX(a) return x + 1; }
int three(int a) {
  Noisy noisy{"three"};
  try {
    MIX(a)
    return x;
  } catch (int thrown) {
    MIX(thrown + 1)
    return x - thrown;
  }
}
int four(int a) {
  Noisy noisy{"four"};
  try {
    Noisy inner{"inner"};
    MIX(a)
    return x;
  } catch (const char *) {
    throw;
  } catch (...) {
    sink = sink + 1;
    return one(a) + two(a);
  }
}

int main() {
  for (int i = 0; i < 20; i++) {
    try {
      std::printf("%d\n", one(i) + two(i) + three(i) + four(i));
    } catch (int thrown) {
      std::printf("int %d\n", thrown);
    } catch (const char *thrown) {
      std::printf("%s\n", thrown);
    }
  }
}
