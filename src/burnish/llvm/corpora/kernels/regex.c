/* Regular expressions: random patterns are parsed, matched by a lazy DFA over Thompson's automaton, and by search. */
#include "kernel.h"

enum kind { EMPTY, LETTER, ANY, SEQUENCE, EITHER, STAR, PLUS, OPTIONAL };
enum { MOST_NODES = 256, MOST_STATES = 512, WORDS = MOST_STATES / 64, MOST_SETS = 256, LETTERS = 3, MOST_TEXT = 64 };

struct node {
  enum kind kind;
  char letter;
  struct node *left, *right;
};

/* A state of the automaton reads a letter, or splits into two without reading. */
struct state {
  enum { READ, READ_ANY, SPLIT, ACCEPT } kind;
  char letter;
  int next, other;
};

struct automaton {
  struct state states[MOST_STATES];
  int count, start;
  uint64_t sets[MOST_SETS][WORDS];
  int moves[MOST_SETS][LETTERS]; /* which set follows; -1: not known yet */
  int set_count;
};

struct pool {
  struct node nodes[MOST_NODES];
  int used;
};

static struct node *make_node(struct pool *pool, enum kind kind, char letter, struct node *left, struct node *right) {
  check(pool->used < MOST_NODES, "too many nodes");
  pool->nodes[pool->used] = (struct node){kind, letter, left, right};
  return &pool->nodes[pool->used++];
}

static struct node *parse_either(struct pool *pool, const char **at);

static struct node *parse_repeat(struct pool *pool, const char **at) {
  struct node *node;
  if (**at == '(') {
    ++*at;
    node = parse_either(pool, at);
    check(*(*at)++ == ')', "a parenthesis is not closed");
  } else {
    node = make_node(pool, **at == '.' ? ANY : LETTER, **at, NULL, NULL);
    ++*at;
  }
  for (; **at == '*' || **at == '+' || **at == '?'; ++*at)
    node = make_node(pool, **at == '*' ? STAR : **at == '+' ? PLUS : OPTIONAL, 0, node, NULL);
  return node;
}

static struct node *parse_sequence(struct pool *pool, const char **at) {
  struct node *node = NULL;
  while (**at && **at != '|' && **at != ')') {
    struct node *next = parse_repeat(pool, at);
    node = node ? make_node(pool, SEQUENCE, 0, node, next) : next;
  }
  return node ? node : make_node(pool, EMPTY, 0, NULL, NULL);
}

static struct node *parse_either(struct pool *pool, const char **at) {
  struct node *node = parse_sequence(pool, at);
  while (**at == '|') {
    ++*at;
    node = make_node(pool, EITHER, 0, node, parse_sequence(pool, at));
  }
  return node;
}

static int add_state(struct automaton *a, int kind, char letter, int next, int other) {
  check(a->count < MOST_STATES, "too many states");
  struct state *state = &a->states[a->count];
  state->kind = kind;
  state->letter = letter;
  state->next = next;
  state->other = other;
  return a->count++;
}

/* Return the state that matches the node and goes on with `next`. */
static int build(struct automaton *a, const struct node *node, int next) {
  int loop;
  switch (node->kind) {
  case EMPTY:
    return next;
  case LETTER:
  case ANY:
    return add_state(a, node->kind == ANY ? READ_ANY : READ, node->letter, next, -1);
  case SEQUENCE:
    return build(a, node->left, build(a, node->right, next));
  case EITHER:
    loop = build(a, node->left, next);
    return add_state(a, SPLIT, 0, loop, build(a, node->right, next));
  case OPTIONAL:
    return add_state(a, SPLIT, 0, build(a, node->left, next), next);
  default:
    loop = add_state(a, SPLIT, 0, -1, next);
    a->states[loop].next = build(a, node->left, loop);
    return node->kind == STAR ? loop : a->states[loop].next;
  }
}

static void close_over(const struct automaton *a, int state, uint64_t *set) {
  if (set[state / 64] >> state % 64 & 1)
    return;
  set[state / 64] |= (uint64_t)1 << state % 64;
  if (a->states[state].kind == SPLIT) {
    close_over(a, a->states[state].next, set);
    close_over(a, a->states[state].other, set);
  }
}

/* The number of a set of states; the cache starts anew where it is full. */
static int number_of(struct automaton *a, const uint64_t *set) {
  for (int i = 0; i < a->set_count; ++i)
    if (memcmp(a->sets[i], set, sizeof a->sets[i]) == 0)
      return i;
  if (a->set_count == MOST_SETS)
    a->set_count = 0;
  memcpy(a->sets[a->set_count], set, sizeof a->sets[0]);
  for (int i = 0; i < LETTERS; ++i)
    a->moves[a->set_count][i] = -1;
  return a->set_count++;
}

static int move(struct automaton *a, int from, char letter) {
  uint64_t set[WORDS] = {0};
  if (a->moves[from][letter - 'a'] >= 0)
    return a->moves[from][letter - 'a'];
  for (int i = 0; i < a->count; ++i)
    if (a->sets[from][i / 64] >> i % 64 & 1) {
      const struct state *state = &a->states[i];
      if (state->kind == READ_ANY || (state->kind == READ && state->letter == letter))
        close_over(a, state->next, set);
    }
  int known = a->set_count, to = number_of(a, set);
  if (a->set_count >= known) /* otherwise `from` is forgotten, too */
    a->moves[from][letter - 'a'] = to;
  return to;
}

static int matches(struct automaton *a, const char *text) {
  uint64_t set[WORDS] = {0};
  close_over(a, a->start, set);
  int at = number_of(a, set);
  for (; *text; ++text)
    at = move(a, at, *text);
  return (int)(a->sets[at][0] & 1); /* state 0 accepts */
}

/* The reference: which ends are possible for a match of the node that begins at each of `starts`? */
static uint64_t search(const struct node *node, const char *text, uint64_t starts) {
  uint64_t ends = 0, more;
  switch (node->kind) {
  case EMPTY:
    return starts;
  case LETTER:
  case ANY:
    for (int i = 0; text[i]; ++i)
      if (starts >> i & 1 && (node->kind == ANY || text[i] == node->letter))
        ends |= (uint64_t)2 << i;
    return ends;
  case SEQUENCE:
    return search(node->right, text, search(node->left, text, starts));
  case EITHER:
    return search(node->left, text, starts) | search(node->right, text, starts);
  case OPTIONAL:
    return starts | search(node->left, text, starts);
  default:
    ends = node->kind == STAR ? starts : search(node->left, text, starts);
    while ((more = ends | search(node->left, text, ends)) != ends)
      ends = more;
    return ends;
  }
}

static char *random_pattern(char *to, uint64_t *state, int depth) {
  for (uint32_t parts = 1 + random_below(state, 3); parts > 0; --parts) {
    uint32_t choice = random_below(state, depth > 0 ? 8 : 5);
    if (choice < 5) {
      *to++ = "abc.a"[choice];
    } else {
      *to++ = '(';
      to = random_pattern(to, state, depth - 1);
      if (choice > 5) {
        *to++ = '|';
        to = random_pattern(to, state, depth - 1);
      }
      *to++ = ')';
    }
    uint32_t repeat = random_below(state, 6);
    if (repeat < 3)
      *to++ = "*+?"[repeat];
  }
  *to = 0;
  return to;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 1u << 20);
  struct automaton *automaton = allocate(1, sizeof *automaton);
  struct pool *pool = allocate(1, sizeof *pool);
  uint64_t state = input.seed, found = 0, tried = 0, states = 0, sum = FNV_START;
  char pattern[1024], text[MOST_TEXT];
  for (uint32_t i = 0; i < input.size; ++i) {
    random_pattern(pattern, &state, 3);
    const char *at = pattern;
    pool->used = 0;
    struct node *tree = parse_either(pool, &at);
    check(*at == 0, "something follows the pattern");
    automaton->count = automaton->set_count = 0;
    int accept = add_state(automaton, ACCEPT, 0, -1, -1);
    automaton->start = build(automaton, tree, accept);
    for (int length = 0; length < MOST_TEXT - 1; length += 2, ++tried) {
      for (int j = 0; j < length; ++j)
        text[j] = (char)('a' + random_below(&state, 1 + random_below(&state, LETTERS)));
      text[length] = 0;
      int match = matches(automaton, text);
      FAULT(match ^= 1);
      check(match == (int)(search(tree, text, 1) >> length & 1), "automaton and search disagree");
      found += (uint64_t)match;
      sum = mix(sum, (uint64_t)match);
    }
    states += (uint64_t)automaton->count;
  }
  printf("%u patterns, the last is %s\n%llu states, %llu of %llu texts match\n", input.size, pattern,
         (unsigned long long)states, (unsigned long long)found, (unsigned long long)tried);
  print_checksum(sum);
  free(automaton);
  free(pool);
  return 0;
}
