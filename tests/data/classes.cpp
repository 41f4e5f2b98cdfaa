// Classes with virtual functions, templates, destructors and exceptions.
class Error {
public:
  explicit Error(int code) : code(code) {}
  int code;
};

class Shape {
public:
  virtual ~Shape() {}
  virtual int area() const = 0;
};

class Square : public Shape {
public:
  explicit Square(int side) : side(side) {}
  int area() const override { return side * side; }

private:
  int side;
};

class Rectangle : public Shape {
public:
  Rectangle(int width, int height) : width(width), height(height) {}
  int area() const override {
    if (width < 0 || height < 0)
      throw Error(7);
    return width * height;
  }

private:
  int width, height;
};

template <class T> class Stack {
public:
  void push(T value) {
    if (count == capacity)
      throw Error(1);
    values[count++] = value;
  }
  T pop() {
    if (!count)
      throw Error(2);
    return values[--count];
  }
  bool empty() const { return count == 0; }

private:
  static const int capacity = 8;
  T values[capacity];
  int count = 0;
};

extern int alive;
struct Guard {
  Guard() { ++alive; }
  ~Guard() { --alive; }
};

template <class T> T total(Stack<T> &stack) {
  Guard guard;
  T sum{};
  while (!stack.empty())
    sum += stack.pop();
  return sum;
}

int area_of(const Shape *shape) {
  try {
    Guard guard;
    return shape->area();
  } catch (const Error &error) {
    return -error.code;
  }
}

int areas(int side, int width, int height) {
  Square square(side);
  Rectangle rectangle(width, height);
  return area_of(&square) + area_of(&rectangle);
}

double totals(int a, double b) {
  Stack<int> ints;
  Stack<double> doubles;
  for (int i = 0; i < a; ++i) {
    ints.push(i);
    doubles.push(i * b);
  }
  return total(ints) + total(doubles);
}
