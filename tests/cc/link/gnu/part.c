int table[] = {1, 2, 3, 4};

__attribute__((weak)) int asked(void) { return 1; }

static int helper(int number) { return number * number + 3; }

int part(int number) {
  switch (number % 3) {
  case 0: return helper(number);
  case 1: return helper(number + 1) * 2;
  default: return helper(number) - helper(number - 1);
  }
}

int unused_part(int number) { return helper(number) * 5 + table[number & 3]; }
