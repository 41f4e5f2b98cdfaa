#include "shape.h"

namespace {
struct Circle : Shape {
  double radius;
  explicit Circle(double radius) : radius(radius) { ++counter(); }
  double area() const override { return 3 * radius * radius; }
};
struct Early {
  Early() { counter() *= 2; }
} early;
} // namespace

Shape *make_circle(double radius) { return new Circle(radius); }
