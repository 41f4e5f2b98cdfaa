/* Solve seeded random 3-SAT and pigeonhole formulas; check every model against its clauses. */
#include "inputs.h"
#include "picosat.h"

enum { MOST_CLAUSES = 4000 };

static int clauses[MOST_CLAUSES][3];

static void check_model(PicoSAT *solver, int count) {
  for (int i = 0; i < count; ++i) {
    int satisfied = 0;
    for (int j = 0; j < 3; ++j)
      satisfied |= picosat_deref(solver, clauses[i][j]) == 1;
    if (!satisfied)
      fail("the model falsifies a clause");
  }
}

static void report(const char *name, PicoSAT *solver, int variables, int answer) {
  signed char *model = allocate((size_t)variables);
  for (int i = 0; answer == PICOSAT_SATISFIABLE && i < variables; ++i)
    model[i] = (signed char)picosat_deref(solver, i + 1);
  printf("%s %3d variables: %-13s %8llu decisions  %9llu propagations  model %016llx\n", name, variables,
         answer == PICOSAT_SATISFIABLE ? "satisfiable" : "unsatisfiable", picosat_decisions(solver),
         picosat_propagations(solver), (unsigned long long)digest(model, (size_t)variables));
  free(model);
}

static void random_formula(int variables, int count, uint64_t seed) {
  PicoSAT *solver = picosat_init();
  picosat_set_seed(solver, 1);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < 3; ++j) {
      int variable = 1 + (int)(next_random(&seed) % (uint64_t)variables);
      clauses[i][j] = next_random(&seed) % 2 ? variable : -variable;
      picosat_add(solver, clauses[i][j]);
    }
    picosat_add(solver, 0);
  }
  int answer = picosat_sat(solver, -1);
  if (answer == PICOSAT_SATISFIABLE)
    check_model(solver, count);
  report("random    ", solver, variables, answer);
  picosat_reset(solver);
}

/* n + 1 pigeons in n holes: never */
static void pigeonhole(int holes) {
  PicoSAT *solver = picosat_init();
  for (int pigeon = 0; pigeon <= holes; ++pigeon) {
    for (int hole = 1; hole <= holes; ++hole)
      picosat_add(solver, pigeon * holes + hole);
    picosat_add(solver, 0);
  }
  for (int hole = 1; hole <= holes; ++hole)
    for (int one = 0; one <= holes; ++one)
      for (int other = 0; other < one; ++other) {
        picosat_add(solver, -(one * holes + hole));
        picosat_add(solver, -(other * holes + hole));
        picosat_add(solver, 0);
      }
  int answer = picosat_sat(solver, -1);
  if (answer != PICOSAT_UNSATISFIABLE)
    fail("pigeonhole");
  report("pigeonhole", solver, (holes + 1) * holes, answer);
  picosat_reset(solver);
}

/* pycosat FORMULAS HOLES */
int main(int argc, char **argv) {
  if (argc != 3)
    fail("usage: pycosat FORMULAS HOLES");
  uint64_t formulas = read_size(argv[1]);
  int most_holes = (int)read_size(argv[2]);
  if (formulas > 200 || most_holes > 12)
    fail("too many formulas or holes");
  for (uint64_t seed = 1; seed <= formulas; ++seed) {
    int variables = 40 + 4 * (int)(seed % 41);
    random_formula(variables, variables * (seed % 2 ? 42 : 36) / 10, seed);
  }
  for (int holes = 2; holes <= most_holes; ++holes)
    pigeonhole(holes);
  return 0;
}
