/* A machine with a tape and eight commands: programs are compiled to runs and loops, then interpreted both ways. */
#include "kernel.h"

enum op { ADD, MOVE, OUTPUT, OPEN, CLOSE, CLEAR, COPY, STOP };
enum { TAPE = 30000, MOST_CODE = 4096, MOST_OUTPUT = 1 << 18, DEEPEST = 64 };

struct instruction {
  enum op op;
  int32_t operand; /* how much, how far, or where to jump */
  int32_t offset;  /* of COPY: which cell grows by operand times this one */
};

struct output {
  char bytes[MOST_OUTPUT];
  size_t size;
};

/* `[->+++>+<<]` and the like: cells at fixed offsets grow, this one counts down to zero. */
static int compile_copies(const char *from, const char *end, struct instruction *to, int *count) {
  int32_t offset = 0, changes[2 * DEEPEST] = {0};
  for (const char *at = from; at < end; ++at) {
    if (*at == '>' || *at == '<')
      offset += *at == '>' ? 1 : -1;
    else if (*at == '+' || *at == '-')
      changes[offset + DEEPEST] += *at == '+' ? 1 : -1;
    else
      return 0;
    if (offset <= -DEEPEST || offset >= DEEPEST)
      return 0;
  }
  if (offset != 0 || changes[DEEPEST] != -1)
    return 0;
  for (int32_t i = -DEEPEST; i < DEEPEST; ++i)
    if (i && changes[i + DEEPEST])
      to[(*count)++] = (struct instruction){COPY, changes[i + DEEPEST], i};
  to[(*count)++] = (struct instruction){CLEAR, 0, 0};
  return 1;
}

static int compile(const char *text, struct instruction *code) {
  int count = 0, depth = 0, open[DEEPEST];
  for (const char *at = text; *at; ++at) {
    check(count + 2 * DEEPEST < MOST_CODE, "the program is too long");
    if (*at == '+' || *at == '-' || *at == '>' || *at == '<') {
      enum op op = *at == '+' || *at == '-' ? ADD : MOVE;
      int32_t by = *at == '+' || *at == '>' ? 1 : -1;
      if (count && code[count - 1].op == op)
        code[count - 1].operand += by;
      else
        code[count++] = (struct instruction){op, by, 0};
    } else if (*at == '.') {
      code[count++] = (struct instruction){OUTPUT, 0, 0};
    } else if (*at == '[') {
      const char *end = strchr(at, ']');
      check(end != NULL && depth < DEEPEST, "a loop does not end");
      if (compile_copies(at + 1, end, code, &count)) {
        at = end;
        continue;
      }
      open[depth++] = count;
      code[count++] = (struct instruction){OPEN, 0, 0};
    } else if (*at == ']') {
      check(depth > 0, "a loop ends that did not begin");
      int start = open[--depth];
      code[start].operand = count;
      code[count++] = (struct instruction){CLOSE, start, 0};
    }
  }
  check(depth == 0, "a loop does not end");
  code[count] = (struct instruction){STOP, 0, 0};
  return count;
}

static void put(struct output *out, unsigned char byte) {
  check(out->size < MOST_OUTPUT, "too much output");
  out->bytes[out->size++] = (char)byte;
}

static size_t moved(size_t at, int32_t by) {
  int64_t to = (int64_t)at + by;
  check(to >= 0 && to < TAPE, "off the tape");
  return (size_t)to;
}

static uint64_t run_compiled(const struct instruction *code, struct output *out) {
  static unsigned char tape[TAPE];
  size_t at = 0;
  uint64_t steps = 0;
  memset(tape, 0, sizeof tape);
  for (const struct instruction *next = code;; ++next, ++steps)
    switch (next->op) {
    case ADD:
      tape[at] = (unsigned char)(tape[at] + next->operand);
      break;
    case MOVE:
      at = moved(at, next->operand);
      break;
    case OUTPUT:
      put(out, tape[at]);
      break;
    case OPEN:
      if (!tape[at])
        next = code + next->operand;
      break;
    case CLOSE:
      if (tape[at])
        next = code + next->operand;
      break;
    case CLEAR:
      tape[at] = 0;
      break;
    case COPY:
      if (tape[at]) {
        size_t to = moved(at, next->offset);
        tape[to] = (unsigned char)(tape[to] + tape[at] * next->operand);
      }
      break;
    case STOP:
      return steps;
    }
}

/* The reference: letter by letter, finding the other end of a loop by counting brackets. */
static uint64_t run_text(const char *text, struct output *out) {
  static unsigned char tape[TAPE];
  size_t at = 0;
  uint64_t steps = 0;
  memset(tape, 0, sizeof tape);
  for (const char *next = text; *next; ++next, ++steps) {
    int step = *next == '[' && !tape[at] ? 1 : *next == ']' && tape[at] ? -1 : 0;
    for (int depth = step; depth != 0;) {
      next += step;
      depth += *next == '[' ? 1 : *next == ']' ? -1 : 0;
    }
    if (*next == '>' || *next == '<')
      at = moved(at, *next == '>' ? 1 : -1);
    else if (*next == '+' || *next == '-')
      tape[at] = (unsigned char)(tape[at] + (*next == '+' ? 1 : -1));
    else if (*next == '.')
      put(out, tape[at]);
  }
  return steps;
}

static char *put_count(char *to, uint32_t count, char letter) {
  memset(to, letter, count);
  return to + count;
}

/* Nested loops, one cell each; the innermost adds to two cells beyond, to and fro. All begin and end at a zero. */
static char *put_loops(char *to, int depth, uint64_t *state) {
  to = put_count(to, 4 + random_below(state, 8), '+');
  if (depth == 0)
    return to + sprintf(to, "[->+>++<<]>[-<+>]<[->>+<<]");
  to += sprintf(to, "[->");
  to = put_loops(to, depth - 1, state);
  return to + sprintf(to, "<]");
}

/* A program that prints a word by loops, then what nested loops have added up. */
static void make_program(char *to, int depth, uint64_t *state) {
  for (const char *letter = "Burnish\n"; *letter; ++letter) {
    to += sprintf(to, ">++++++++[<");
    to = put_count(to, (uint32_t)*letter / 8, '+');
    to += sprintf(to, ">-]<");
    to = put_count(to, (uint32_t)*letter % 8, '+');
    to += sprintf(to, ".[-]");
  }
  to = put_loops(to, depth, state);
  to = put_count(to, (uint32_t)depth + 2, '>');
  sprintf(to, ".[-]++++++++[>++++++++<-]>+.");
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 3, 26000);
  static struct instruction code[MOST_CODE];
  static char text[1 << 12];
  struct output *fast = allocate(1, sizeof *fast), *slow = allocate(1, sizeof *slow);
  uint64_t state = input.seed, steps = 0, letters = 0;
  for (uint32_t program = 0; program < input.size; ++program) {
    make_program(text, (int)(program % 5), &state);
    int count = compile(text, code);
    steps += run_compiled(code, fast);
    FAULT(++fast->bytes[8]);
    if (program < 3)
      letters += run_text(text, slow);
    if (program == 0)
      printf("%zu letters, %d instructions\n", strlen(text), count);
  }
  check(memcmp(fast->bytes, slow->bytes, slow->size) == 0, "text and compiled program print differently");
  check(memcmp(fast->bytes, "Burnish\n", 8) == 0, "the first program does not print its text");
  printf("%llu steps compiled, %llu letters\n", (unsigned long long)steps, (unsigned long long)letters);
  print_checksum(mix_bytes(FNV_START, fast->bytes, fast->size));
  free(fast);
  free(slow);
  return 0;
}
