/* Filters of a grey picture: Gaussian blur, Sobel's edges, the median, equalisation and labels of what is bright. */
#include "kernel.h"

enum { LEVELS = 256, RADIUS = 2, TAPS = 2 * RADIUS + 1, MEDIAN_RADIUS = 3 };

struct image {
  int width, height;
  unsigned char *at;
};

static const int GAUSSIAN[TAPS] = {1, 4, 6, 4, 1}; /* over 16 */

static struct image make_image(int width, int height) {
  struct image image = {width, height, allocate((size_t)width * height, 1)};
  return image;
}

static int clamp(int value, int most) { return value < 0 ? 0 : value > most ? most : value; }

static int pixel(const struct image *image, int x, int y) {
  return image->at[(size_t)clamp(y, image->height - 1) * image->width + clamp(x, image->width - 1)];
}

static void draw(struct image *image, uint64_t *state) {
  for (int y = 0; y < image->height; ++y)
    for (int x = 0; x < image->width; ++x)
      image->at[(size_t)y * image->width + x] = (unsigned char)((x * 40 / image->width + y * 60 / image->height));
  for (int i = 0; i < 40; ++i) {
    int cx = (int)random_below(state, (uint32_t)image->width), cy = (int)random_below(state, (uint32_t)image->height);
    int radius = 3 + (int)random_below(state, (uint32_t)image->width / 12 + 1),
        level = 100 + (int)random_below(state, 156);
    for (int y = clamp(cy - radius, image->height - 1); y <= clamp(cy + radius, image->height - 1); ++y)
      for (int x = clamp(cx - radius, image->width - 1); x <= clamp(cx + radius, image->width - 1); ++x)
        if ((x - cx) * (x - cx) + (y - cy) * (y - cy) <= radius * radius)
          image->at[(size_t)y * image->width + x] = (unsigned char)level;
  }
  for (int i = 0; i < image->width * image->height / 50; ++i)
    image->at[next_random(state) % ((size_t)image->width * image->height)] = i % 2 ? 255 : 0;
}

/* Rows, then columns, with eight more bits in between. */
static void blur(const struct image *from, struct image *to) {
  int width = from->width, height = from->height;
  uint16_t *rows = allocate((size_t)width * height, sizeof *rows);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      int sum = 0;
      for (int i = 0; i < TAPS; ++i)
        sum += GAUSSIAN[i] * pixel(from, x + i - RADIUS, y);
      rows[(size_t)y * width + x] = (uint16_t)sum;
    }
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      int sum = 128;
      for (int i = 0; i < TAPS; ++i)
        sum += GAUSSIAN[i] * rows[(size_t)clamp(y + i - RADIUS, height - 1) * width + x];
      to->at[(size_t)y * width + x] = (unsigned char)(sum >> 8);
    }
  free(rows);
}

static void find_edges(const struct image *from, struct image *to) {
  for (int y = 0; y < from->height; ++y)
    for (int x = 0; x < from->width; ++x) {
      int across = 0, down = 0;
      for (int i = -1; i <= 1; ++i) {
        int weight = i ? 1 : 2;
        across += weight * (pixel(from, x + 1, y + i) - pixel(from, x - 1, y + i));
        down += weight * (pixel(from, x + i, y + 1) - pixel(from, x + i, y - 1));
      }
      to->at[(size_t)y * from->width + x] = (unsigned char)clamp((abs(across) + abs(down)) / 4, LEVELS - 1);
    }
}

/* Huang's method: a histogram that moves along the row, and where its middle is. */
static void take_medians(const struct image *from, struct image *to) {
  int half = (2 * MEDIAN_RADIUS + 1) * (2 * MEDIAN_RADIUS + 1) / 2;
  for (int y = 0; y < from->height; ++y) {
    int bins[LEVELS] = {0}, median = 0, below = 0; /* how many pixels are less than the median */
    for (int j = -MEDIAN_RADIUS; j <= MEDIAN_RADIUS; ++j)
      for (int i = -MEDIAN_RADIUS - 1; i < MEDIAN_RADIUS; ++i)
        ++bins[pixel(from, i, y + j)];
    for (int x = 0; x < from->width; ++x) {
      for (int j = -MEDIAN_RADIUS; j <= MEDIAN_RADIUS; ++j) {
        int leaving = pixel(from, x - MEDIAN_RADIUS - 1, y + j), entering = pixel(from, x + MEDIAN_RADIUS, y + j);
        --bins[leaving];
        ++bins[entering];
        if (x > 0)
          below += (entering < median) - (leaving < median);
      }
      if (x == 0) {
        median = 0;
        below = 0;
      }
      for (; below > half; below -= bins[median])
        --median;
      for (; below + bins[median] <= half; ++median)
        below += bins[median];
      to->at[(size_t)y * from->width + x] = (unsigned char)median;
    }
  }
}

static void check_medians(const struct image *from, const struct image *medians, uint64_t *state) {
  int half = (2 * MEDIAN_RADIUS + 1) * (2 * MEDIAN_RADIUS + 1) / 2;
  for (int i = 0; i < 500; ++i) {
    int x = (int)random_below(state, (uint32_t)from->width), y = (int)random_below(state, (uint32_t)from->height);
    int less = 0, greater = 0, median = pixel(medians, x, y);
    for (int dy = -MEDIAN_RADIUS; dy <= MEDIAN_RADIUS; ++dy)
      for (int dx = -MEDIAN_RADIUS; dx <= MEDIAN_RADIUS; ++dx) {
        less += pixel(from, x + dx, y + dy) < median;
        greater += pixel(from, x + dx, y + dy) > median;
      }
    check(less <= half && greater <= half, "not the median");
  }
}

static void equalize(const struct image *from, struct image *to) {
  size_t count = (size_t)from->width * from->height, bins[LEVELS] = {0}, sum = 0;
  unsigned char map[LEVELS];
  for (size_t i = 0; i < count; ++i)
    ++bins[from->at[i]];
  for (int level = 0; level < LEVELS; ++level) {
    sum += bins[level];
    map[level] = (unsigned char)(sum * (LEVELS - 1) / count);
  }
  for (size_t i = 0; i < count; ++i)
    to->at[i] = map[from->at[i]];
}

static int find_root(int *parent, int label) {
  while (parent[label] != label)
    label = parent[label] = parent[parent[label]];
  return label;
}

/* Two passes: labels from above and from the left, united where they meet; return how many there are. */
static int label_regions(const struct image *image, int threshold, int *labels) {
  int width = image->width, count = 0, regions = 0,
      *parent = allocate((size_t)width * image->height + 1, sizeof *parent);
  for (int i = 0; i < width * image->height; ++i) {
    int left = i % width ? labels[i - 1] : 0, above = i >= width ? labels[i - width] : 0;
    if (image->at[i] < threshold) {
      labels[i] = 0;
      continue;
    }
    if (!left && !above) {
      labels[i] = ++count;
      parent[count] = count;
      continue;
    }
    int one = find_root(parent, left ? left : above), two = find_root(parent, above ? above : left);
    labels[i] = one < two ? one : two;
    parent[one > two ? one : two] = labels[i];
  }
  for (int i = 0; i < width * image->height; ++i)
    labels[i] = labels[i] ? find_root(parent, labels[i]) : 0;
  for (int i = 1; i <= count; ++i)
    regions += parent[i] == i;
  free(parent);
  return regions;
}

static uint64_t total(const struct image *image) {
  uint64_t sum = 0;
  for (size_t i = 0; i < (size_t)image->width * image->height; ++i)
    sum += image->at[i];
  return sum;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 16, 1u << 13);
  int width = (int)input.size, height = width * 3 / 4;
  size_t count = (size_t)width * height;
  uint64_t state = input.seed, sum = FNV_START;
  struct image picture = make_image(width, height), blurred = make_image(width, height);
  struct image edges = make_image(width, height), medians = make_image(width, height);
  struct image even = make_image(width, height);
  int *labels = allocate(count, sizeof *labels);
  draw(&picture, &state);
  blur(&picture, &blurred);
  find_edges(&blurred, &edges);
  take_medians(&picture, &medians);
  FAULT(memset(medians.at, 1, count / 4));
  check_medians(&picture, &medians, &state);
  equalize(&medians, &even);
  int regions = label_regions(&medians, 100, labels);
  for (int i = width; i < (int)count; ++i)
    check(!labels[i] || !labels[i - width] || labels[i] == labels[i - width], "neighbours have different labels");
  double lightness = (double)total(&picture) / (double)count, after = (double)total(&blurred) / (double)count;
  check(lightness - after < 1 && after - lightness < 1, "blurring changed the brightness");
  const struct image *images[] = {&blurred, &edges, &medians, &even};
  for (int i = 0; i < 4; ++i)
    sum = mix_bytes(sum, images[i]->at, count);
  printf("%d x %d: %d bright regions; edges %llu, even %llu\n", width, height, regions,
         (unsigned long long)total(&edges), (unsigned long long)total(&even));
  print_checksum(sum);
  for (int i = 0; i < 4; ++i)
    free(images[i]->at);
  free(picture.at);
  free(labels);
  return 0;
}
