/* Bodies under gravity: a direct sum with a symplectic integrator, and the same forces by a Barnes-Hut tree. */
#include "kernel.h"
#include <math.h>

enum { CHILDREN = 8, DEEPEST = 40 };

static const double SOFTENING = 0.01, OPENING = 0.3;

struct vector {
  double x, y, z;
};

struct body {
  struct vector at, velocity, force;
  double mass;
};

struct cell {
  struct vector centre, weighted; /* of the cube; the sum of mass times place */
  double half, mass;
  int child[CHILDREN], body; /* -1: none */
};

struct tree {
  struct cell *cells;
  int count, room;
};

static struct vector minus(struct vector a, struct vector b) {
  struct vector difference = {a.x - b.x, a.y - b.y, a.z - b.z};
  return difference;
}

static void add_scaled(struct vector *to, struct vector v, double scale) {
  to->x += v.x * scale;
  to->y += v.y * scale;
  to->z += v.z * scale;
}

static double dot(struct vector a, struct vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static void sum_forces(struct body *bodies, int count) {
  for (int i = 0; i < count; ++i)
    bodies[i].force = (struct vector){0, 0, 0};
  for (int i = 0; i < count; ++i)
    for (int j = i + 1; j < count; ++j) {
      struct vector d = minus(bodies[j].at, bodies[i].at);
      double square = dot(d, d) + SOFTENING, pull = 1 / (square * sqrt(square));
      add_scaled(&bodies[i].force, d, bodies[j].mass * pull);
      add_scaled(&bodies[j].force, d, -bodies[i].mass * pull);
    }
}

/* Leapfrog: half a kick, drift, half a kick. */
static void step(struct body *bodies, int count, double time) {
  for (int i = 0; i < count; ++i) {
    add_scaled(&bodies[i].velocity, bodies[i].force, time / 2);
    add_scaled(&bodies[i].at, bodies[i].velocity, time);
  }
  sum_forces(bodies, count);
  for (int i = 0; i < count; ++i)
    add_scaled(&bodies[i].velocity, bodies[i].force, time / 2);
}

static double energy(const struct body *bodies, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += 0.5 * bodies[i].mass * dot(bodies[i].velocity, bodies[i].velocity);
    for (int j = i + 1; j < count; ++j) {
      struct vector d = minus(bodies[j].at, bodies[i].at);
      sum -= bodies[i].mass * bodies[j].mass / sqrt(dot(d, d) + SOFTENING);
    }
  }
  return sum;
}

static struct vector momentum(const struct body *bodies, int count) {
  struct vector sum = {0, 0, 0};
  for (int i = 0; i < count; ++i)
    add_scaled(&sum, bodies[i].velocity, bodies[i].mass);
  return sum;
}

static int new_cell(struct tree *tree, struct vector centre, double half) {
  check(tree->count < tree->room, "too many cells");
  struct cell *cell = &tree->cells[tree->count];
  memset(cell, 0, sizeof *cell);
  cell->centre = centre;
  cell->half = half;
  cell->body = -1;
  for (int i = 0; i < CHILDREN; ++i)
    cell->child[i] = -1;
  return tree->count++;
}

static int octant(const struct cell *cell, struct vector at) {
  return (at.x > cell->centre.x) | (at.y > cell->centre.y) << 1 | (at.z > cell->centre.z) << 2;
}

static int child_for(struct tree *tree, int at, struct vector place) {
  int which = octant(&tree->cells[at], place), child = tree->cells[at].child[which];
  if (child >= 0)
    return child;
  double half = tree->cells[at].half / 2;
  struct vector centre = tree->cells[at].centre;
  add_scaled(&centre, (struct vector){which & 1 ? 1 : -1, which & 2 ? 1 : -1, which & 4 ? 1 : -1}, half);
  child = new_cell(tree, centre, half);
  tree->cells[at].child[which] = child;
  return child;
}

static int is_leaf(const struct cell *cell) {
  for (int i = 0; i < CHILDREN; ++i)
    if (cell->child[i] >= 0)
      return 0;
  return 1;
}

static void insert(struct tree *tree, const struct body *bodies, int body) {
  int at = 0;
  for (int depth = 0; depth < DEEPEST; ++depth) {
    struct cell *cell = &tree->cells[at];
    int is_empty = cell->mass <= 0, other = cell->body;
    int leaf = is_leaf(cell);
    cell->mass += bodies[body].mass;
    add_scaled(&cell->weighted, bodies[body].at, bodies[body].mass);
    if (is_empty) {
      cell->body = body;
      return;
    }
    if (leaf) { /* the body that was here moves down, too */
      cell->body = -1;
      int child = child_for(tree, at, bodies[other].at);
      tree->cells[child].mass = bodies[other].mass;
      add_scaled(&tree->cells[child].weighted, bodies[other].at, bodies[other].mass);
      tree->cells[child].body = other;
    }
    at = child_for(tree, at, bodies[body].at);
  }
  fail("two bodies are in the same place");
}

static void pull_by_tree(const struct tree *tree, int at, const struct body *bodies, int body, struct vector *force) {
  const struct cell *cell = &tree->cells[at];
  if (cell->body == body)
    return;
  struct vector centre = {cell->weighted.x / cell->mass, cell->weighted.y / cell->mass, cell->weighted.z / cell->mass};
  struct vector d = minus(centre, bodies[body].at);
  double square = dot(d, d) + SOFTENING;
  if (cell->body >= 0 || 4 * cell->half * cell->half < OPENING * OPENING * square) {
    add_scaled(force, d, cell->mass / (square * sqrt(square)));
    return;
  }
  for (int i = 0; i < CHILDREN; ++i)
    if (cell->child[i] >= 0)
      pull_by_tree(tree, cell->child[i], bodies, body, force);
}

/* The greatest relative difference between the tree's forces and the sums. */
static double compare_with_tree(const struct body *bodies, int count) {
  struct tree tree = {allocate((size_t)count * 24, sizeof(struct cell)), 0, count * 24};
  double half = 1, difference = 0, scale = 0;
  for (int i = 0; i < count; ++i)
    half = fmax(half, fmax(fabs(bodies[i].at.x), fmax(fabs(bodies[i].at.y), fabs(bodies[i].at.z))));
  new_cell(&tree, (struct vector){0, 0, 0}, half);
  for (int i = 0; i < count; ++i)
    insert(&tree, bodies, i);
  for (int i = 0; i < count; ++i) {
    struct vector force = {0, 0, 0};
    pull_by_tree(&tree, 0, bodies, i, &force);
    struct vector error = minus(force, bodies[i].force);
    difference += dot(error, error);
    scale += dot(bodies[i].force, bodies[i].force);
  }
  free(tree.cells);
  return sqrt(difference / scale);
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 2, 1u << 14);
  int count = (int)input.size;
  uint64_t state = input.seed;
  struct body *bodies = allocate(input.size, sizeof *bodies);
  for (int i = 0; i < count; ++i) {
    double angle = 6.283185307179586 * random_unit(&state), radius = 0.1 + random_unit(&state);
    double speed = sqrt(radius);
    bodies[i].at = (struct vector){radius * cos(angle), radius * sin(angle), 0.1 * (random_unit(&state) - 0.5)};
    bodies[i].velocity = (struct vector){-speed * sin(angle), speed * cos(angle), 0};
    bodies[i].mass = (0.5 + random_unit(&state)) / count;
  }
  sum_forces(bodies, count);
  double before = energy(bodies, count), tree_error = compare_with_tree(bodies, count);
  struct vector push = momentum(bodies, count);
  for (int i = 0; i < 20; ++i)
    step(bodies, count, 1e-3);
  FAULT(bodies[0].velocity.x += 1);
  struct vector drift = minus(momentum(bodies, count), push);
  double after = energy(bodies, count);
  check(fabs(after - before) < 1e-4 * fabs(before), "energy is lost or made");
  check(dot(drift, drift) < 1e-20, "momentum is lost or made");
  check(tree_error < 0.02, "the tree's forces are far off");
  printf("%d bodies: energy %.6f, first at %.5f %.5f %.5f; tree %s\n", count, before, bodies[0].at.x, bodies[0].at.y,
         bodies[0].at.z, tree_error < 1e-3 ? "close" : "near");
  free(bodies);
  return 0;
}
