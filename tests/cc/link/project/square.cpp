#include "shape.h"

namespace {
struct Square : Shape {
  double side;
  explicit Square(double side) : side(side) { ++counter(); }
  double area() const override { return side * side; }
  std::string name() const override { return "square"; }
};
struct Early {
  Early() { counter() += 10; }
} early;
} // namespace

Shape *make_square(double side) {
  if (side < 0)
    throw std::out_of_range("side");
  return new Square(side);
}
