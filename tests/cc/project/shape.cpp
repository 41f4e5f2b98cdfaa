#include "sum.h"

template <int Sides> struct Shape {
  virtual ~Shape() {}
  virtual int area(int side) const { return Sides * side * side; }
};

template <class Any> static int measure(const Any &shape, int kind) {
  return shape.area(kind) + sum(kind) + either(kind, kind + 1);
}

int shape(int kind) {
  if (kind > 2)
    return measure(Shape<4>(), kind);
  return measure(Shape<3>(), kind);
}

extern "C" void __cxa_pure_virtual() {}
void operator delete(void *) noexcept {}
void operator delete(void *, decltype(sizeof 0)) noexcept {}
