#include "shape.h"
#include <cstdio>
#include <iterator>
#include <memory>
#include <sstream>

int main() {
  std::vector<double> areas;
  for (Shape *made : {make_square(3), make_circle(2)}) {
    std::unique_ptr<Shape> shape(made);
    std::printf("%s %g\n", shape->name().c_str(), shape->area());
    areas.push_back(shape->area());
  }
  std::printf("%g %d %d\n", largest(areas), largest(std::vector<int>{4, 9, 2}), twice(counter()));
  std::istringstream words("one two");
  // The C++ library has this template as well, and the linker exports the program's.
  for (std::istreambuf_iterator<char> at(words), end; at != end;)
    std::putchar(*at++);
  try {
    make_square(-1);
  } catch (const std::out_of_range &error) {
    std::printf("caught %s\n", error.what());
  }
  try {
    largest(std::vector<int>());
  } catch (const std::invalid_argument &error) {
    std::printf("caught %s\n", error.what());
  }
}
