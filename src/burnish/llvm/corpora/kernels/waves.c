/* Waves in a periodic box: a seven-point stencil in three dimensions, checked by energy and by reversing time. */
#include "kernel.h"
#include <math.h>

struct box {
  int side;
  double *past, *present, *future;
};

static const double SQUARED_SPEED = 0.25; /* in cells a step; stable below 1/3 */

static size_t place(int side, int x, int y, int z) { return ((size_t)z * side + y) * side + x; }

static int wrap(int i, int side) { return i < 0 ? i + side : i >= side ? i - side : i; }

static void add_drop(double *field, int side, int x, int y, int z, double height) {
  for (int k = -2; k <= 2; ++k)
    for (int j = -2; j <= 2; ++j)
      for (int i = -2; i <= 2; ++i)
        field[place(side, wrap(x + i, side), wrap(y + j, side), wrap(z + k, side))] +=
            height * exp(-0.5 * (i * i + j * j + k * k));
}

static double laplacian(const double *field, int side, int x, int y, int z) {
  size_t at = place(side, x, y, z);
  return field[place(side, wrap(x - 1, side), y, z)] + field[place(side, wrap(x + 1, side), y, z)] +
         field[place(side, x, wrap(y - 1, side), z)] + field[place(side, x, wrap(y + 1, side), z)] +
         field[place(side, x, y, wrap(z - 1, side))] + field[place(side, x, y, wrap(z + 1, side))] - 6 * field[at];
}

static void step_row(struct box *box, int y, int z) {
  int side = box->side;
  size_t plane = (size_t)side * side, row = place(side, 0, y, z);
  const double *u = box->present;
  size_t above = place(side, 0, wrap(y - 1, side), z), below = place(side, 0, wrap(y + 1, side), z);
  size_t before = (size_t)wrap(z - 1, side) * plane + (size_t)y * side;
  size_t behind = (size_t)wrap(z + 1, side) * plane + (size_t)y * side;
  for (int x = 1; x + 1 < side; ++x) {
    double around = u[row + x - 1] + u[row + x + 1] + u[above + x] + u[below + x] + u[before + x] + u[behind + x];
    box->future[row + x] = 2 * u[row + x] - box->past[row + x] + SQUARED_SPEED * (around - 6 * u[row + x]);
  }
  for (int x = 0; x < side; x += side - 1)
    box->future[row + x] = 2 * u[row + x] - box->past[row + x] + SQUARED_SPEED * laplacian(u, side, x, y, z);
}

static void step(struct box *box) {
  for (int z = 0; z < box->side; ++z)
    for (int y = 0; y < box->side; ++y)
      step_row(box, y, z);
  double *oldest = box->past;
  box->past = box->present;
  box->present = box->future;
  box->future = oldest;
}

/* What the scheme conserves: |velocity|^2 and the product of the gradients at both times. */
static double energy(const struct box *box) {
  double sum = 0;
  int side = box->side;
  for (int z = 0; z < side; ++z)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        size_t at = place(side, x, y, z);
        double velocity = box->present[at] - box->past[at];
        sum += velocity * velocity - SQUARED_SPEED * box->past[at] * laplacian(box->present, side, x, y, z);
      }
  return sum;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 6, 512);
  int side = (int)input.size, steps = 2 * side;
  size_t cells = (size_t)side * side * side;
  uint64_t state = input.seed;
  struct box box = {side, allocate(cells, sizeof(double)), allocate(cells, sizeof(double)),
                    allocate(cells, sizeof(double))};
  double *start = allocate(cells, sizeof *start), worst = 0;
  for (int i = 0; i < 5; ++i) {
    uint32_t x = random_below(&state, input.size), y = random_below(&state, input.size);
    uint32_t z = random_below(&state, input.size);
    add_drop(start, side, (int)x, (int)y, (int)z, random_unit(&state) - 0.3);
  }
  memcpy(box.past, start, cells * sizeof *start);
  memcpy(box.present, start, cells * sizeof *start);
  double before = energy(&box);
  for (int i = 0; i < steps; ++i)
    step(&box);
  FAULT(box.present[cells / 2] += 1e-3);
  double after = energy(&box);
  check(fabs(before - after) < 1e-9 * before, "energy is lost or made");
  printf("%d^3 cells, %d steps: energy %.6f\n", side, steps, before);
  for (int i = 0; i < 4; ++i) {
    size_t at = (size_t)(next_random(&state) % cells);
    printf("cell %zu: %.6f\n", at, box.present[at] + 1e-12);
  }
  double *held = box.past; /* time runs backwards where the last two states change places */
  box.past = box.present;
  box.present = held;
  for (int i = 0; i < steps; ++i)
    step(&box);
  for (size_t i = 0; i < cells; ++i)
    worst = fmax(worst, fabs(box.present[i] - start[i]));
  check(worst < 1e-9, "reversed, it does not return to its start");
  free(box.past);
  free(box.present);
  free(box.future);
  free(start);
  return 0;
}
