/* A compiler and a stack machine for a small language: functions with recursion, loops, locals and an array. */
#include "kernel.h"

/* The language: one letter variables; `a=1;` `?(c){..}` if, `@(c){..}` while, `^e;` return, `[i]=e;` store and
 * `[i]` load from the array, `$n(a,b)` call of function n; operators + - * / % < & with C's precedence. A program
 * is a list of functions `{..}`, numbered from 0; their parameters are a, b, c. */
enum op { PUSH, LOAD, STORE, FETCH, PUT, ADD, SUB, MUL, DIV, MOD, LESS, AND, JUMP, JUMP_ZERO, CALL, RETURN };
enum { LOCALS = 8, MOST_CODE = 4096, MOST_FUNCTIONS = 16, STACK = 1 << 14, CELLS = 1 << 20 };

struct instruction {
  enum op op;
  int64_t operand;
};

struct program {
  struct instruction code[MOST_CODE];
  int size, entry[MOST_FUNCTIONS], functions;
  const char *at;
};

struct machine {
  int64_t stack[STACK], cells[CELLS];
  uint64_t steps;
};

static int emit(struct program *p, enum op op, int64_t operand) {
  check(p->size < MOST_CODE, "the program is too long");
  p->code[p->size] = (struct instruction){op, operand};
  return p->size++;
}

static int accept(struct program *p, char wanted) {
  if (*p->at != wanted)
    return 0;
  ++p->at;
  return 1;
}

static void expect(struct program *p, char wanted) { check(accept(p, wanted), "the program is malformed"); }

static int64_t parse_digits(struct program *p) {
  int64_t value = 0;
  check(*p->at >= '0' && *p->at <= '9', "a number is expected");
  while (*p->at >= '0' && *p->at <= '9')
    value = 10 * value + (*p->at++ - '0');
  return value;
}

static void compile_sum(struct program *p, int least);

static void compile_primary(struct program *p) {
  if (accept(p, '(')) {
    compile_sum(p, 0);
    expect(p, ')');
  } else if (accept(p, '[')) {
    compile_sum(p, 0);
    expect(p, ']');
    emit(p, FETCH, 0);
  } else if (accept(p, '$')) {
    int64_t callee = parse_digits(p);
    int arguments = 0;
    expect(p, '(');
    do {
      compile_sum(p, 0);
      ++arguments;
    } while (accept(p, ','));
    expect(p, ')');
    emit(p, CALL, callee * LOCALS + arguments);
  } else if (*p->at >= 'a' && *p->at < 'a' + LOCALS) {
    emit(p, LOAD, *p->at++ - 'a');
  } else {
    emit(p, PUSH, parse_digits(p));
  }
}

static void compile_sum(struct program *p, int least) {
  static const char symbols[] = "&<+-*/%";
  static const int levels[] = {0, 1, 2, 2, 3, 3, 3};
  static const enum op ops[] = {AND, LESS, ADD, SUB, MUL, DIV, MOD};
  compile_primary(p);
  for (const char *found; *p->at && (found = strchr(symbols, *p->at)) && levels[found - symbols] >= least;) {
    ++p->at;
    compile_sum(p, levels[found - symbols] + 1);
    emit(p, ops[found - symbols], 0);
  }
}

static void compile_block(struct program *p);

static void compile_statement(struct program *p) {
  if (accept(p, '?') || accept(p, '@')) {
    int loops = p->at[-1] == '@', start = p->size;
    expect(p, '(');
    compile_sum(p, 0);
    expect(p, ')');
    int leave = emit(p, JUMP_ZERO, 0);
    compile_block(p);
    if (loops)
      emit(p, JUMP, start);
    p->code[leave].operand = p->size;
    return;
  }
  if (accept(p, '^')) {
    compile_sum(p, 0);
    emit(p, RETURN, 0);
  } else if (accept(p, '[')) {
    compile_sum(p, 0);
    expect(p, ']');
    expect(p, '=');
    compile_sum(p, 0);
    emit(p, PUT, 0);
  } else {
    int variable = *p->at++ - 'a';
    check(variable >= 0 && variable < LOCALS, "a variable is expected");
    expect(p, '=');
    compile_sum(p, 0);
    emit(p, STORE, variable);
  }
  expect(p, ';');
}

static void compile_block(struct program *p) {
  expect(p, '{');
  while (!accept(p, '}'))
    compile_statement(p);
}

static void compile(struct program *p, const char *text) {
  p->at = text;
  p->size = p->functions = 0;
  while (*p->at) {
    p->entry[p->functions++] = p->size;
    compile_block(p);
    emit(p, PUSH, 0);
    emit(p, RETURN, 0);
  }
}

static int64_t divide(int64_t a, int64_t b, int remainder) {
  check(b > 0, "division by zero");
  return remainder ? a % b : a / b;
}

/* Frames are on the stack: the locals, then the caller's frame and place, then its temporaries. */
static int64_t execute(const struct program *p, struct machine *m, int function, int64_t a, int64_t b) {
  int64_t *frame = m->stack, *top = frame + LOCALS + 2;
  int at = p->entry[function];
  memset(frame, 0, LOCALS * sizeof *frame);
  frame[0] = a;
  frame[1] = b;
  frame[LOCALS] = -1;
  for (;;) {
    struct instruction next = p->code[at++];
    int64_t right;
    ++m->steps;
    switch (next.op) {
    case PUSH:
      *top++ = next.operand;
      break;
    case LOAD:
      *top++ = frame[next.operand];
      break;
    case STORE:
      frame[next.operand] = *--top;
      break;
    case FETCH:
      check(top[-1] >= 0 && top[-1] < CELLS, "the index is out of bounds");
      top[-1] = m->cells[top[-1]];
      break;
    case PUT:
      top -= 2;
      check(top[0] >= 0 && top[0] < CELLS, "the index is out of bounds");
      m->cells[top[0]] = top[1];
      break;
    case JUMP:
      at = (int)next.operand;
      break;
    case JUMP_ZERO:
      if (*--top == 0)
        at = (int)next.operand;
      break;
    case CALL: {
      int64_t arguments = next.operand % LOCALS, *callee = top - arguments;
      check(callee + 2 * LOCALS + 4 < m->stack + STACK, "the stack overflows");
      memset(top, 0, (size_t)(LOCALS - arguments) * sizeof *top);
      callee[LOCALS] = frame - m->stack;
      callee[LOCALS + 1] = at;
      frame = callee;
      top = frame + LOCALS + 2;
      at = p->entry[next.operand / LOCALS];
      break;
    }
    case RETURN: {
      int64_t result = top[-1];
      if (frame[LOCALS] < 0)
        return result;
      int64_t caller = frame[LOCALS];
      at = (int)frame[LOCALS + 1];
      top = frame;
      frame = m->stack + caller;
      *top++ = result;
      break;
    }
    default: /* two operands, one result; sums wrap */
      right = *--top;
      top[-1] = next.op == ADD    ? (int64_t)((uint64_t)top[-1] + (uint64_t)right)
                : next.op == SUB  ? (int64_t)((uint64_t)top[-1] - (uint64_t)right)
                : next.op == MUL  ? (int64_t)((uint64_t)top[-1] * (uint64_t)right)
                : next.op == LESS ? top[-1] < right
                : next.op == AND  ? top[-1] & right
                                  : divide(top[-1], right, next.op == MOD);
    }
  }
}

static const char *const SOURCE =
    "{?(a<2){^a;}^$0(a-1)+$0(a-2);}"                                                          /* 0: Fibonacci */
    "{?(b<1){^a;}^$1(b,a%b);}"                                                                /* 1: gcd */
    "{b=2;@(b<a){[b]=1;b=b+1;}b=2;@(b<a){?([b]){d=d+1;c=b*b;@(c<a){[c]=0;c=c+b;}}b=b+1;}^d;}" /* 2: primes below */
    "{b=1;@(b<a){c=b;d=0;@(1<c){?(c%2<1){c=c/2;}?(c%2&(1<c)){c=3*c+1;}d=d+1;}?(e<d){e=d;f=b;}b=b+1;}^f;}" /* 3 */
    "{?(a<1){^b+1;}?(b<1){^$4(a-1,1);}^$4(a-1,$4(a,b-1));}"; /* 4: Ackermann */

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 2, 1u << 19);
  struct program *program = allocate(1, sizeof *program);
  struct machine *machine = allocate(1, sizeof *machine);
  uint64_t state = input.seed;
  compile(program, SOURCE);
  int64_t rounds = input.size / 1000 + 1, gcds = 0;
  check(execute(program, machine, 0, 20, 0) == 6765, "Fibonacci's 20th number");
  int64_t primes = execute(program, machine, 2, 1000, 0);
  FAULT(++primes);
  check(primes == 168, "the primes below 1,000");
  check(execute(program, machine, 3, 1000, 0) == 871, "the longest way to 1 below 1,000");
  check(execute(program, machine, 4, 2, 5) == 13, "Ackermann's function");
  for (int64_t i = 0; i < rounds; ++i) {
    int64_t a = 1 + random_below(&state, 1000000), b = 1 + random_below(&state, 1000000);
    int64_t divisor = execute(program, machine, 1, a, b);
    check(divisor > 0 && a % divisor == 0 && b % divisor == 0, "no common divisor");
    gcds += divisor;
  }
  primes = execute(program, machine, 2, input.size, 0);
  int64_t longest = execute(program, machine, 3, input.size / 4, 0);
  printf("%d instructions; %lld primes below %u, longest way from %lld, divisors sum to %lld\n", program->size,
         (long long)primes, input.size, (long long)longest, (long long)gcds);
  printf("%llu steps\n", (unsigned long long)machine->steps);
  free(program);
  free(machine);
  return 0;
}
