/* Calls through pointers: a table of operations, a callback. */
typedef int operation(int, int);

static int add(int a, int b) { return a + b; }
static int subtract(int a, int b) { return a - b; }
static int multiply(int a, int b) { return a * b; }
static int larger(int a, int b) { return a > b ? a : b; }

static operation *const operations[] = {add, subtract, multiply, larger};

int calculate(unsigned which, int a, int b) {
  return which < sizeof operations / sizeof *operations ? operations[which](a, b) : 0;
}

int fold(const int *values, int count, operation *combine, int start) {
  for (int i = 0; i < count; ++i)
    start = combine(start, values[i]);
  return start;
}

int sum(const int *values, int count) { return fold(values, count, add, 0); }
int maximum(const int *values, int count) { return fold(values, count, larger, -2147483647 - 1); }

void for_each(const int *values, int count, void (*visit)(int, void *), void *with) {
  while (count--)
    visit(*values++, with);
}
