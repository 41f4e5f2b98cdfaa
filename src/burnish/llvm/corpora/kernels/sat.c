/* Satisfiability: unit propagation with two watched literals, learnt clauses by first unique implication point. */
#include "kernel.h"

enum { MOST_VARIABLES = 256, MOST_CLAUSES = 1 << 15, MOST_LITERALS = 1 << 19, NONE = -1, RESTART = 100 };

/* Literal 2 v is variable v, 2 v + 1 its negation. */
struct clause {
  int first, size, next[2]; /* literals 0 and 1 are watched; next clause in the list of each */
};

struct solver {
  int variables, clauses, literals, trail_size, done, level;
  int literal[MOST_LITERALS];
  struct clause clause[MOST_CLAUSES];
  int watch[2 * MOST_VARIABLES]; /* the first clause that watches the literal */
  signed char value[2 * MOST_VARIABLES];
  int reason[MOST_VARIABLES], at_level[MOST_VARIABLES], trail[MOST_VARIABLES], level_start[MOST_VARIABLES + 1];
  double activity[MOST_VARIABLES], bump;
  unsigned char seen[MOST_VARIABLES], phase[MOST_VARIABLES];
  uint64_t conflicts, decisions, propagations;
};

static void assign(struct solver *s, int literal, int reason) {
  s->value[literal] = 1;
  s->value[literal ^ 1] = -1;
  s->reason[literal / 2] = reason;
  s->at_level[literal / 2] = s->level;
  s->trail[s->trail_size++] = literal;
}

static void watch(struct solver *s, int number, int which) {
  struct clause *c = &s->clause[number];
  int literal = s->literal[c->first + which];
  c->next[which] = s->watch[literal];
  s->watch[literal] = number;
}

static int add_clause(struct solver *s, const int *literals, int size) {
  check(s->clauses < MOST_CLAUSES && s->literals + size <= MOST_LITERALS, "too many clauses");
  s->clause[s->clauses] = (struct clause){s->literals, size, {NONE, NONE}};
  memcpy(&s->literal[s->literals], literals, (size_t)size * sizeof *literals);
  s->literals += size;
  for (int i = 0; i < 2 && size > 1; ++i)
    watch(s, s->clauses, i);
  return s->clauses++;
}

/* Find another literal to watch in place of the one at `which`, which is false; say whether there is one. */
static int move_watch(struct solver *s, int number, int which) {
  struct clause *c = &s->clause[number];
  int *literal = &s->literal[c->first];
  for (int i = 2; i < c->size; ++i)
    if (s->value[literal[i]] >= 0) {
      int held = literal[which];
      literal[which] = literal[i];
      literal[i] = held;
      watch(s, number, which);
      return 1;
    }
  return 0;
}

/* Assign what follows; return a clause that is false, or NONE. */
static int propagate(struct solver *s) {
  while (s->done < s->trail_size) {
    int falsified = s->trail[s->done++] ^ 1, *link = &s->watch[falsified];
    ++s->propagations;
    for (int number = *link; number != NONE; number = *link) {
      struct clause *c = &s->clause[number];
      int which = s->literal[c->first] == falsified ? 0 : 1, next = c->next[which];
      int other = s->literal[c->first + (which ^ 1)];
      if (s->value[other] > 0) {
        link = &c->next[which];
        continue;
      }
      if (move_watch(s, number, which)) {
        *link = next;
        continue;
      }
      if (s->value[other] < 0)
        return number;
      assign(s, other, number);
      link = &c->next[which];
    }
  }
  return NONE;
}

static void back_to(struct solver *s, int level) {
  while (s->trail_size > s->level_start[level + 1]) {
    int literal = s->trail[--s->trail_size];
    s->phase[literal / 2] = literal & 1;
    s->value[literal] = s->value[literal ^ 1] = 0;
  }
  s->done = s->trail_size;
  s->level = level;
}

static void bump(struct solver *s, int variable) {
  if ((s->activity[variable] += s->bump) < 1e100)
    return;
  for (int i = 0; i < s->variables; ++i)
    s->activity[i] *= 1e-100;
  s->bump *= 1e-100;
}

/* Resolve back to the one literal of this level that implies the conflict; return the learnt clause's size. */
static int analyze(struct solver *s, int conflict, int *learnt) {
  int size = 1, open = 0, at = s->trail_size, literal = NONE;
  memset(s->seen, 0, sizeof s->seen);
  do {
    const struct clause *c = &s->clause[conflict];
    for (int i = 0; i < c->size; ++i) {
      int other = s->literal[c->first + i], variable = other / 2;
      if (other == literal || s->seen[variable] || s->at_level[variable] == 0)
        continue;
      s->seen[variable] = 1;
      bump(s, variable);
      if (s->at_level[variable] == s->level)
        ++open;
      else
        learnt[size++] = other;
    }
    do
      literal = s->trail[--at];
    while (!s->seen[literal / 2]);
    conflict = s->reason[literal / 2];
  } while (--open > 0);
  learnt[0] = literal ^ 1;
  return size;
}

/* Go back as far as the clause stays of use, and assign what it says. */
static void learn(struct solver *s, int *learnt, int size) {
  int deepest = 1;
  for (int i = 2; i < size; ++i)
    if (s->at_level[learnt[i] / 2] > s->at_level[learnt[deepest] / 2])
      deepest = i;
  int level = 0;
  if (size > 1) {
    int held = learnt[1];
    learnt[1] = learnt[deepest];
    learnt[deepest] = held;
    level = s->at_level[learnt[1] / 2];
  }
  back_to(s, level);
  assign(s, learnt[0], add_clause(s, learnt, size));
  s->bump *= 1.05;
}

static int choose(const struct solver *s) {
  int best = NONE;
  for (int i = 0; i < s->variables; ++i)
    if (!s->value[2 * i] && (best == NONE || s->activity[i] > s->activity[best]))
      best = i;
  return best;
}

/* 1: satisfiable, and the values are a model; 0: not. */
static int solve(struct solver *s) {
  int learnt[MOST_VARIABLES];
  for (int i = 0; i < s->clauses; ++i) { /* clauses of one literal */
    if (s->clause[i].size > 1)
      continue;
    int literal = s->literal[s->clause[i].first];
    if (s->value[literal] < 0)
      return 0;
    if (!s->value[literal])
      assign(s, literal, i);
  }
  for (uint64_t since = 0;;) {
    int conflict = propagate(s);
    if (conflict != NONE) {
      ++s->conflicts;
      ++since;
      if (s->level == 0)
        return 0;
      int size = analyze(s, conflict, learnt);
      learn(s, learnt, size);
      continue;
    }
    if (since >= RESTART && s->level > 0) {
      since = 0;
      back_to(s, 0);
      continue;
    }
    int variable = choose(s);
    if (variable == NONE)
      return 1;
    ++s->decisions;
    s->level_start[++s->level] = s->trail_size;
    assign(s, 2 * variable + s->phase[variable], NONE);
  }
}

static void start(struct solver *s, int variables) {
  memset(s, 0, sizeof *s);
  memset(s->watch, 0xff, sizeof s->watch);
  s->variables = variables;
  s->bump = 1;
}

static int random_formula(struct solver *s, int variables, int count, uint64_t *state) {
  start(s, variables);
  for (int i = 0; i < count; ++i) {
    int literals[3];
    for (int j = 0; j < 3; ++j) {
      do
        literals[j] = (int)random_below(state, 2 * (uint32_t)variables);
      while ((j > 0 && literals[j] / 2 == literals[0] / 2) || (j > 1 && literals[j] / 2 == literals[1] / 2));
    }
    add_clause(s, literals, 3);
  }
  return solve(s);
}

/* More pigeons than holes: never. As many: always. */
static int pigeons(struct solver *s, int count, int holes) {
  start(s, count * holes);
  for (int pigeon = 0; pigeon < count; ++pigeon) {
    int literals[MOST_VARIABLES];
    for (int hole = 0; hole < holes; ++hole)
      literals[hole] = 2 * (pigeon * holes + hole);
    add_clause(s, literals, holes);
  }
  for (int hole = 0; hole < holes; ++hole)
    for (int one = 0; one < count; ++one)
      for (int other = 0; other < one; ++other) {
        int literals[2] = {2 * (one * holes + hole) + 1, 2 * (other * holes + hole) + 1};
        add_clause(s, literals, 2);
      }
  return solve(s);
}

static void check_model(const struct solver *s, int clauses) {
  for (int i = 0; i < clauses; ++i) {
    int holds = 0;
    for (int j = 0; j < s->clause[i].size; ++j)
      holds |= s->value[s->literal[s->clause[i].first + j]] > 0;
    check(holds, "the model does not satisfy a clause");
  }
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 2000);
  struct solver *solver = allocate(1, sizeof *solver);
  uint64_t state = input.seed, models = FNV_START, conflicts = 0, propagations = 0;
  uint32_t satisfiable = 0;
  for (uint32_t i = 0; i < input.size; ++i) {
    int variables = 40 + (int)(i % 8) * 12, clauses = variables * 426 / 100;
    if (random_formula(solver, variables, clauses, &state)) {
      FAULT(solver->value[solver->literal[0]] = solver->value[solver->literal[1]] = solver->value[solver->literal[2]] =
                -1);
      check_model(solver, clauses);
      ++satisfiable;
      models = mix_bytes(models, solver->value, sizeof solver->value);
    }
    conflicts += solver->conflicts;
    propagations += solver->propagations;
  }
  for (int holes = 2; holes <= 5; ++holes) {
    check(!pigeons(solver, holes + 1, holes), "a pigeon found a hole that is not there");
    check(pigeons(solver, holes, holes), "a pigeon found no hole");
  }
  printf("%u formulas, %u satisfiable, %llu conflicts, %llu propagations\n", input.size, satisfiable,
         (unsigned long long)conflicts, (unsigned long long)propagations);
  print_checksum(models);
  free(solver);
  return 0;
}
