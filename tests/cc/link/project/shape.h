#pragma once
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
  virtual std::string name() const { return "shape"; }
};

template <typename T> T largest(const std::vector<T> &values) {
  if (values.empty())
    throw std::invalid_argument("no values");
  T best = values.front();
  for (const T &value : values)
    if (best < value)
      best = value;
  return best;
}

inline int &counter() {
  static int count;
  return count;
}

Shape *make_square(double side);
Shape *make_circle(double radius);
extern "C" int twice(int value);
