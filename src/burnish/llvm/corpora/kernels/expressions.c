/* Arithmetic expressions: random trees are written as text, parsed by precedence climbing, simplified, evaluated. */
#include "kernel.h"

enum kind { NUMBER, VARIABLE, NEGATE, ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, SHIFT, AND, OR, XOR };
enum { VARIABLES = 8, DEEPEST = 9, MOST_NODES = 1 << 14, MOST_TEXT = 1 << 17 };

struct node {
  enum kind kind;
  int64_t value; /* a number, or which variable */
  struct node *left, *right;
};

struct pool {
  struct node nodes[MOST_NODES];
  int used;
};

struct parser {
  const char *at;
  struct pool *pool;
};

static const struct {
  const char *text;
  int precedence;
} OPERATORS[] = {[ADD] = {"+", 4},    [SUBTRACT] = {"-", 4},  [MULTIPLY] = {"*", 5},
                 [DIVIDE] = {"/", 5}, [REMAINDER] = {"%", 5}, [SHIFT] = {"<<", 3},
                 [AND] = {"&", 2},    [OR] = {"|", 0},        [XOR] = {"^", 1}};

static struct node *make_node(struct pool *pool, enum kind kind, int64_t value, struct node *left, struct node *right) {
  check(pool->used < MOST_NODES, "too many nodes");
  struct node *node = &pool->nodes[pool->used++];
  *node = (struct node){kind, value, left, right};
  return node;
}

static struct node *random_tree(struct pool *pool, uint64_t *state, int depth) {
  uint32_t choice = random_below(state, depth ? 12 : 2);
  if (choice == 0 || choice == 1)
    return choice ? make_node(pool, VARIABLE, random_below(state, VARIABLES), NULL, NULL)
                  : make_node(pool, NUMBER, random_below(state, random_below(state, 2) ? 3 : 1000), NULL, NULL);
  enum kind kind = (enum kind)choice;
  struct node *left = random_tree(pool, state, depth - 1);
  return make_node(pool, kind, 0, left, kind == NEGATE ? NULL : random_tree(pool, state, depth - 1));
}

/* All arithmetic is that of 64 bits; what C leaves open is settled here. */
static int64_t operate(enum kind kind, int64_t a, int64_t b) {
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  switch (kind) {
  case NEGATE:
    return (int64_t)(0 - x);
  case ADD:
    return (int64_t)(x + y);
  case SUBTRACT:
    return (int64_t)(x - y);
  case MULTIPLY:
    return (int64_t)(x * y);
  case DIVIDE:
    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - x) : a / b;
  case REMAINDER:
    return b == 0 || b == -1 ? 0 : a % b;
  case SHIFT:
    return (int64_t)(x << (y & 63));
  case AND:
    return a & b;
  case OR:
    return a | b;
  default:
    return a ^ b;
  }
}

static int64_t evaluate(const struct node *node, const int64_t *variables) {
  if (node->kind == NUMBER)
    return node->value;
  if (node->kind == VARIABLE)
    return variables[node->value];
  int64_t left = evaluate(node->left, variables);
  return operate(node->kind, left, node->right ? evaluate(node->right, variables) : 0);
}

/* Parentheses only where they are needed: every operator takes its left side first. */
static char *print_tree(char *to, const struct node *node, int least) {
  if (node->kind == NUMBER)
    return to + sprintf(to, "%lld", (long long)node->value);
  if (node->kind == VARIABLE) {
    *to++ = (char)('a' + node->value);
    return to;
  }
  if (node->kind == NEGATE) {
    *to++ = '-';
    return print_tree(to, node->left, 6);
  }
  int precedence = OPERATORS[node->kind].precedence;
  if (precedence < least)
    *to++ = '(';
  to = print_tree(to, node->left, precedence);
  to += sprintf(to, " %s ", OPERATORS[node->kind].text);
  to = print_tree(to, node->right, precedence + 1);
  if (precedence < least)
    *to++ = ')';
  return to;
}

static void skip_space(struct parser *in) {
  while (*in->at == ' ')
    ++in->at;
}

static struct node *parse(struct parser *in, int least);

static struct node *parse_primary(struct parser *in) {
  skip_space(in);
  char next = *in->at++;
  if (next == '-')
    return make_node(in->pool, NEGATE, 0, parse_primary(in), NULL);
  if (next == '(') {
    struct node *inner = parse(in, 0);
    check(*in->at++ == ')', "a parenthesis is not closed");
    return inner;
  }
  if (next >= 'a' && next < 'a' + VARIABLES)
    return make_node(in->pool, VARIABLE, next - 'a', NULL, NULL);
  check(next >= '0' && next <= '9', "a number is expected");
  int64_t value = next - '0';
  while (*in->at >= '0' && *in->at <= '9')
    value = 10 * value + (*in->at++ - '0');
  return make_node(in->pool, NUMBER, value, NULL, NULL);
}

static enum kind next_operator(struct parser *in) {
  skip_space(in);
  for (enum kind kind = ADD; kind <= XOR; ++kind)
    if (strncmp(in->at, OPERATORS[kind].text, strlen(OPERATORS[kind].text)) == 0)
      return kind;
  return NUMBER;
}

static struct node *parse(struct parser *in, int least) {
  struct node *left = parse_primary(in);
  for (enum kind kind; (kind = next_operator(in)) != NUMBER && OPERATORS[kind].precedence >= least;) {
    in->at += strlen(OPERATORS[kind].text);
    left = make_node(in->pool, kind, 0, left, parse(in, OPERATORS[kind].precedence + 1));
  }
  return left;
}

static int is_number(const struct node *node, int64_t value) { return node->kind == NUMBER && node->value == value; }

/* Fold constants and the identities of 0 and 1, bottom up. */
static struct node *simplify(struct pool *pool, struct node *node) {
  if (node->kind <= VARIABLE)
    return node;
  struct node *left = node->left = simplify(pool, node->left), *right = node->right;
  if (right)
    right = node->right = simplify(pool, right);
  if (left->kind == NUMBER && (!right || right->kind == NUMBER))
    return make_node(pool, NUMBER, operate(node->kind, left->value, right ? right->value : 0), NULL, NULL);
  if (node->kind == NEGATE)
    return left->kind == NEGATE ? left->left : node;
  int right_zero = is_number(right, 0), left_zero = is_number(left, 0);
  if (node->kind == ADD || node->kind == OR || node->kind == XOR)
    return right_zero ? left : left_zero ? right : node;
  if (node->kind == SUBTRACT || node->kind == SHIFT)
    return right_zero ? left : node;
  if (node->kind == MULTIPLY || node->kind == AND)
    if (right_zero || left_zero)
      return right_zero ? right : left;
  if (node->kind == MULTIPLY || node->kind == DIVIDE)
    return is_number(right, 1) ? left : node;
  return node;
}

static int count_nodes(const struct node *node) {
  return node ? 1 + count_nodes(node->left) + count_nodes(node->right) : 0;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 1u << 20);
  uint64_t state = input.seed, sum = FNV_START, bytes = 0, before = 0, after = 0;
  struct pool *pool = allocate(1, sizeof *pool);
  char *text = allocate(MOST_TEXT, 1);
  for (uint32_t i = 0; i < input.size; ++i) {
    int64_t variables[VARIABLES];
    pool->used = 0;
    struct node *made = random_tree(pool, &state, 2 + (int)random_below(&state, DEEPEST - 2));
    char *end = print_tree(text, made, 0);
    *end = 0;
    struct parser parser = {text, pool};
    struct node *read = parse(&parser, 0);
    check(*parser.at == 0, "something follows the expression");
    int size = count_nodes(read);
    check(size == count_nodes(made), "the trees have different sizes");
    struct node *simple = simplify(pool, read);
    FAULT(simple = make_node(pool, ADD, 0, simple, make_node(pool, NUMBER, i, NULL, NULL)));
    for (int point = 0; point < 3; ++point) {
      for (int j = 0; j < VARIABLES; ++j)
        variables[j] = (int64_t)random_number(&state);
      int64_t value = evaluate(made, variables);
      check(value == evaluate(simple, variables), "the simplified tree has another value");
      sum = mix(sum, (uint64_t)value);
    }
    bytes += (uint64_t)(end - text);
    before += (uint64_t)size;
    after += (uint64_t)count_nodes(simple);
  }
  printf("%u expressions, %llu bytes, %llu nodes, %llu when simplified\n", input.size, (unsigned long long)bytes,
         (unsigned long long)before, (unsigned long long)after);
  print_checksum(sum);
  free(pool);
  free(text);
  return 0;
}
