/* Queens on a chess board of SIZE by bit boards, with symmetry; and exact covers by Knuth's dancing links. */
#include "kernel.h"

enum { MOST_NODES = 1 << 13, KNOWN = 15, MOST_DEPTH = 81 };

struct node {
  int left, right, up, down, column, row;
};

struct cover {
  struct node nodes[MOST_NODES];
  int size[400], count, columns;
  int chosen[MOST_DEPTH], depth;
  uint64_t solutions, tried;
};

static uint64_t place_queens(uint32_t all, uint32_t columns, uint32_t left, uint32_t right) {
  uint64_t count = 0;
  if (columns == all)
    return 1;
  for (uint32_t free_places = all & ~(columns | left | right); free_places; free_places &= free_places - 1) {
    uint32_t place = free_places & (0 - free_places);
    count += place_queens(all, columns | place, (left | place) << 1, (right | place) >> 1);
  }
  return count;
}

/* Mirrored boards count twice: the first queen is in the left half, or in the middle and the second one left. */
static uint64_t count_queens(int size) {
  uint32_t all = (1u << size) - 1;
  uint64_t count = 0;
  for (int i = 0; i < size / 2; ++i)
    count += 2 * place_queens(all, 1u << i, 1u << i << 1, 1u << i >> 1);
  if (size % 2)
    count += place_queens(all, 1u << size / 2, 1u << size / 2 << 1, 1u << size / 2 >> 1);
  return count;
}

static void start_cover(struct cover *c, int columns, int primary) {
  memset(c, 0, sizeof *c);
  c->columns = columns;
  for (int i = 0; i <= columns; ++i) { /* secondary columns may stay uncovered: they are not in the ring */
    int in_ring = i <= primary;
    c->nodes[i] =
        (struct node){in_ring ? (i ? i - 1 : primary) : i, in_ring ? (i < primary ? i + 1 : 0) : i, i, i, i, -1};
  }
  c->count = columns + 1;
}

static void add_row(struct cover *c, int row, const int *columns, int count) {
  int first = c->count;
  check(first + count <= MOST_NODES, "too many nodes");
  for (int i = 0; i < count; ++i) {
    int at = c->count++, column = columns[i] + 1, last = c->nodes[column].up;
    int left = i ? at - 1 : first + count - 1, right = i < count - 1 ? at + 1 : first;
    c->nodes[at] = (struct node){left, right, last, column, column, row};
    c->nodes[last].down = c->nodes[column].up = at;
    ++c->size[column];
  }
}

static void remove_column(struct cover *c, int column) {
  struct node *n = c->nodes;
  n[n[column].left].right = n[column].right;
  n[n[column].right].left = n[column].left;
  for (int i = n[column].down; i != column; i = n[i].down)
    for (int j = n[i].right; j != i; j = n[j].right) {
      n[n[j].up].down = n[j].down;
      n[n[j].down].up = n[j].up;
      --c->size[n[j].column];
    }
}

static void restore_column(struct cover *c, int column) {
  struct node *n = c->nodes;
  for (int i = n[column].up; i != column; i = n[i].up)
    for (int j = n[i].left; j != i; j = n[j].left) {
      ++c->size[n[j].column];
      n[n[j].up].down = n[n[j].down].up = j;
    }
  n[n[column].left].right = n[n[column].right].left = column;
}

/* Count covers up to a limit; the first one that is found stays in `answer`. */
static void solve(struct cover *c, uint64_t limit, int *answer) {
  struct node *n = c->nodes;
  if (n[0].right == 0) {
    if (c->solutions++ == 0)
      memcpy(answer, c->chosen, sizeof c->chosen);
    return;
  }
  int best = n[0].right;
  for (int i = best; i != 0; i = n[i].right)
    if (c->size[i] < c->size[best])
      best = i;
  remove_column(c, best);
  for (int i = n[best].down; i != best && c->solutions < limit; i = n[i].down) {
    ++c->tried;
    c->chosen[c->depth++] = n[i].row;
    for (int j = n[i].right; j != i; j = n[j].right)
      remove_column(c, n[j].column);
    solve(c, limit, answer);
    for (int j = n[i].left; j != i; j = n[j].left)
      restore_column(c, n[j].column);
    --c->depth;
  }
  restore_column(c, best);
}

static void cover_queens(struct cover *c, int size) {
  start_cover(c, 6 * size - 2, 2 * size);
  for (int row = 0; row < size; ++row)
    for (int column = 0; column < size; ++column) {
      int columns[] = {row, size + column, 2 * size + row + column, 4 * size - 1 + row - column + size - 1};
      add_row(c, row * size + column, columns, 4);
    }
}

/* A sudoku: given digits leave one row for their cell. */
static void cover_sudoku(struct cover *c, const char *given) {
  start_cover(c, 324, 324);
  for (int cell = 0; cell < 81; ++cell)
    for (int digit = 0; digit < 9; ++digit) {
      int row = cell / 9, column = cell % 9, square = row / 3 * 3 + column / 3;
      int columns[] = {cell, 81 + 9 * row + digit, 162 + 9 * column + digit, 243 + 9 * square + digit};
      if (given[cell] == '.' || given[cell] == '1' + digit)
        add_row(c, 9 * cell + digit, columns, 4);
    }
}

static void check_sudoku(const char *given, const int *answer, char *digits) {
  unsigned used[27] = {0};
  memset(digits, 0, 82);
  for (int i = 0; i < 81; ++i)
    digits[answer[i] / 9] = (char)('1' + answer[i] % 9);
  for (int cell = 0; cell < 81; ++cell) {
    check(digits[cell] && (given[cell] == '.' || given[cell] == digits[cell]), "a given digit was changed");
    int row = cell / 9, column = cell % 9;
    unsigned bit = 1u << (digits[cell] - '1');
    used[row] |= bit;
    used[9 + column] |= bit;
    used[18 + row / 3 * 3 + column / 3] |= bit;
  }
  for (int i = 0; i < 27; ++i)
    check(used[i] == 511, "a row, a column or a square lacks a digit");
}

/* Take digits away, in a random order, for as long as the solution stays the only one. */
static void make_sudoku(struct cover *c, char *given, uint64_t *state) {
  int answer[MOST_DEPTH], order[81];
  memset(given, '.', 81);
  for (int i = 0; i < 9; ++i)
    given[10 * i] = (char)('1' + (i + (int)random_below(state, 2) * 3) % 9);
  cover_sudoku(c, given);
  solve(c, 1, answer);
  if (!c->solutions) { /* two of the diagonal are the same within a square */
    memset(given, '.', 81);
    cover_sudoku(c, given);
    solve(c, 1, answer);
  }
  char digits[82];
  check_sudoku(given, answer, digits);
  memcpy(given, digits, 81);
  for (int i = 0; i < 81; ++i) {
    int other = (int)random_below(state, (uint32_t)i + 1);
    order[i] = order[other];
    order[other] = i;
  }
  for (int i = 0; i < 81; ++i) {
    given[order[i]] = '.';
    cover_sudoku(c, given);
    solve(c, 2, answer);
    if (c->solutions != 1)
      given[order[i]] = digits[order[i]];
  }
}

int main(int argc, char **argv) {
  static const uint64_t known[KNOWN + 1] = {1,  1,   0,   0,    2,     10,    4,      40,
                                            92, 352, 724, 2680, 14200, 73712, 365596, 2279184};
  struct input input = read_input(argc, argv, 4, KNOWN);
  int size = (int)input.size, answer[MOST_DEPTH];
  struct cover *cover = allocate(1, sizeof *cover);
  uint64_t state = input.seed, by_bits = count_queens(size);
  FAULT(++by_bits);
  check(by_bits == known[size], "a wrong number of boards");
  int smaller = size > 4 ? size - 2 : size;
  cover_queens(cover, smaller);
  solve(cover, UINT64_MAX, answer);
  check(cover->solutions == known[smaller], "a wrong number of covers");
  printf("%llu boards of %d queens; %llu of %d by %llu choices\n", (unsigned long long)by_bits, size,
         (unsigned long long)cover->solutions, smaller, (unsigned long long)cover->tried);
  for (int i = 0; i < size / 3; ++i) {
    char given[82] = {0}, digits[82];
    make_sudoku(cover, given, &state);
    cover_sudoku(cover, given);
    solve(cover, 2, answer);
    check(cover->solutions == 1, "the sudoku has not one solution");
    check_sudoku(given, answer, digits);
    printf("%s\n", given);
  }
  free(cover);
  return 0;
}
