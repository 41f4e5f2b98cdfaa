/* Heat in a plate with walls: explicit steps, then the stationary state by red-black relaxation. */
#include "kernel.h"
#include <math.h>

enum { MOST_SWEEPS = 20000 };

struct plate {
  int width, height;
  double *heat, *next;
  unsigned char *is_fixed;
};

static struct plate make_plate(int side, uint64_t *state) {
  size_t cells = (size_t)side * side;
  struct plate plate = {side, side, allocate(cells, sizeof(double)), allocate(cells, sizeof(double)),
                        allocate(cells, 1)};
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      size_t at = (size_t)y * side + x;
      plate.is_fixed[at] = x == 0 || y == 0 || x == side - 1 || y == side - 1;
      plate.heat[at] = y == 0 ? 100 : plate.is_fixed[at] ? 0 : 20;
    }
  for (int i = 0; i < side / 8; ++i) { /* warm and cold spots that keep their temperature */
    uint32_t x = 1 + random_below(state, (uint32_t)side - 2), y = 1 + random_below(state, (uint32_t)side - 2);
    plate.is_fixed[(size_t)y * side + x] = 1;
    plate.heat[(size_t)y * side + x] = random_below(state, 101);
  }
  return plate;
}

static void step(struct plate *plate, double rate) {
  int width = plate->width;
  memcpy(plate->next, plate->heat, (size_t)width * plate->height * sizeof *plate->next);
  for (int y = 1; y + 1 < plate->height; ++y)
    for (int x = 1; x + 1 < width; ++x) {
      size_t at = (size_t)y * width + x;
      const double *h = plate->heat + at;
      double flow = h[-1] + h[1] + h[-width] + h[width] - 4 * h[0];
      if (!plate->is_fixed[at])
        plate->next[at] = h[0] + rate * flow;
    }
  double *held = plate->heat;
  plate->heat = plate->next;
  plate->next = held;
}

/* Over-relax the cells of one colour; return the greatest change. */
static double relax(struct plate *plate, int colour, double factor) {
  double worst = 0;
  int width = plate->width;
  for (int y = 1; y + 1 < plate->height; ++y)
    for (int x = 1 + (y + colour) % 2; x + 1 < width; x += 2) {
      double *h = plate->heat + (size_t)y * width + x;
      if (plate->is_fixed[(size_t)y * width + x])
        continue;
      double change = factor * ((h[-1] + h[1] + h[-width] + h[width]) / 4 - h[0]);
      *h += change;
      worst = fmax(worst, fabs(change));
    }
  return worst;
}

static double average(const struct plate *plate) {
  double sum = 0;
  for (int i = 0; i < plate->width * plate->height; ++i)
    sum += plate->heat[i];
  return sum / (plate->width * plate->height);
}

/* Every free cell has the mean of its neighbours, and so lies between the fixed ones. */
static void check_stationary(const struct plate *plate) {
  int width = plate->width;
  for (int y = 1; y + 1 < plate->height; ++y)
    for (int x = 1; x + 1 < width; ++x) {
      const double *h = plate->heat + (size_t)y * width + x;
      check(*h >= 0 && *h <= 100, "warmer or colder than anything at the rim");
      double mean = (h[-1] + h[1] + h[-width] + h[width]) / 4;
      check(plate->is_fixed[(size_t)y * width + x] || fabs(mean - *h) < 1e-6, "not stationary");
    }
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 8, 4096);
  int side = (int)input.size, sweeps = 0;
  uint64_t state = input.seed;
  struct plate plate = make_plate(side, &state);
  double factor = 2 / (1 + sin(3.141592653589793 / side)), worst = 1;
  for (int i = 0; i < side / 2; ++i)
    step(&plate, 0.2);
  printf("%d x %d after %d steps: average %.5f\n", side, side, side / 2, average(&plate));
  for (; worst > 1e-8; ++sweeps) {
    check(sweeps < MOST_SWEEPS, "it does not converge");
    double red = relax(&plate, 0, factor), black = relax(&plate, 1, factor);
    worst = fmax(red, black);
  }
  FAULT(plate.heat[side + 1] += 1e-3);
  check_stationary(&plate);
  printf("about %d sweeps: average %.5f, centre %.5f\n", (sweeps + 10) / 20 * 20, average(&plate),
         plate.heat[(size_t)(side / 2) * side + side / 2]);
  free(plate.heat);
  free(plate.next);
  free(plate.is_fixed);
  return 0;
}
