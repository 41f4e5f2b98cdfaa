/* The Mandelbrot set: escape times with shortcuts, by rectangles whose rim is uniform, as a picture of letters. */
#include "kernel.h"

enum { LIMIT = 400, COLUMNS = 64, ROWS = 20 };

struct view {
  int width, height;
  double left, top, step;
};

static int is_in_bulb(double x, double y) {
  double q = (x - 0.25) * (x - 0.25) + y * y;
  return q * (q + (x - 0.25)) <= 0.25 * y * y || (x + 1) * (x + 1) + y * y <= 0.0625;
}

/* How many steps until |z| > 2; LIMIT: never. Periods are found by comparing with an earlier point. */
static int escape_time(double x, double y) {
  if (is_in_bulb(x, y))
    return LIMIT;
  double re = 0, im = 0, old_re = 0, old_im = 0;
  for (int i = 0, since = 0, period = 8; i < LIMIT; ++i) {
    double re2 = re * re, im2 = im * im;
    if (re2 + im2 > 4)
      return i;
    im = 2 * re * im + y;
    re = re2 - im2 + x;
    if (re == old_re && im == old_im)
      return LIMIT;
    if (++since == period) {
      since = 0;
      period *= 2;
      old_re = re;
      old_im = im;
    }
  }
  return LIMIT;
}

/* By definition, without any shortcut. */
static int escape_slowly(double x, double y) {
  double re = 0, im = 0;
  for (int i = 0; i < LIMIT; ++i) {
    double re2 = re * re, im2 = im * im;
    if (re2 + im2 > 4)
      return i;
    im = 2 * re * im + y;
    re = re2 - im2 + x;
  }
  return LIMIT;
}

static int pixel(const struct view *view, uint16_t *times, int column, int row) {
  uint16_t *time = &times[(size_t)row * view->width + column];
  if (*time == UINT16_MAX)
    *time = (uint16_t)escape_time(view->left + column * view->step, view->top - row * view->step);
  return *time;
}

static int rim_is_inside(const struct view *view, uint16_t *times, int left, int top, int right, int bottom) {
  for (int column = left; column <= right; ++column)
    if (pixel(view, times, column, top) != LIMIT || pixel(view, times, column, bottom) != LIMIT)
      return 0;
  for (int row = top; row <= bottom; ++row)
    if (pixel(view, times, left, row) != LIMIT || pixel(view, times, right, row) != LIMIT)
      return 0;
  return 1;
}

/* Mariani and Silver: what a rim in the set encloses is in the set; other rectangles are divided. */
static void fill(const struct view *view, uint16_t *times, int left, int top, int right, int bottom) {
  if (right - left < 6 || bottom - top < 6) {
    for (int row = top; row <= bottom; ++row)
      for (int column = left; column <= right; ++column)
        pixel(view, times, column, row);
    return;
  }
  if (rim_is_inside(view, times, left, top, right, bottom)) {
    for (int row = top; row <= bottom; ++row)
      for (int column = left; column <= right; ++column)
        times[(size_t)row * view->width + column] = LIMIT;
    return;
  }
  if (right - left > bottom - top) {
    int middle = (left + right) / 2;
    fill(view, times, left, top, middle, bottom);
    fill(view, times, middle + 1, top, right, bottom);
  } else {
    int middle = (top + bottom) / 2;
    fill(view, times, left, top, right, middle);
    fill(view, times, left, middle + 1, right, bottom);
  }
}

static void draw(const struct view *view, const uint16_t *times) {
  for (int row = 0; row < ROWS; ++row) {
    char line[COLUMNS + 1];
    for (int column = 0; column < COLUMNS; ++column) {
      int time = times[(size_t)(row * view->height / ROWS) * view->width + column * view->width / COLUMNS], level = 0;
      while (level < 8 && time >> level)
        ++level;
      line[column] = " .,:;+*%#"[time == LIMIT ? 8 : level > 7 ? 7 : level];
    }
    line[COLUMNS] = 0;
    puts(line);
  }
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, COLUMNS, 1u << 13);
  int width = (int)input.size, height = width * 3 / 4;
  struct view view = {width, height, -2.2, 1.2, 3.2 / width};
  size_t count = (size_t)width * height, inside = 0;
  uint16_t *times = allocate(count, sizeof *times);
  uint64_t state = input.seed, sum = 0;
  memset(times, 0xff, count * sizeof *times);
  fill(&view, times, 0, 0, width - 1, height - 1);
  FAULT(times[0] = 1 + times[count - 1]; times[count - 1] = times[0]);
  for (int i = -2; i < 2000; ++i) {
    int column = i < 0 ? (i + 2) * (width - 1) : (int)random_below(&state, input.size);
    int row = i < 0 ? (i + 2) * (height - 1) : (int)random_below(&state, (uint32_t)height);
    int time = escape_slowly(view.left + column * view.step, view.top - row * view.step);
    check(times[(size_t)row * width + column] == time, "a point escapes at another time");
  }
  for (size_t i = 0; i < count; ++i) {
    inside += times[i] == LIMIT;
    sum += times[i];
  }
  draw(&view, times);
  double area = (double)inside / (double)count * 3.2 * 2.4;
  check(area > 1.40 && area < 1.65, "the area is far off");
  printf("%d x %d: %zu inside, area %.2f, times sum to %llu\n", width, height, inside, area, (unsigned long long)sum);
  free(times);
  return 0;
}
