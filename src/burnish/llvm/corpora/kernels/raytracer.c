/* A ray tracer: spheres above a chequered floor, mirrors, glass, soft shadows, through boxes around boxes. */
#include "kernel.h"
#include <math.h>

enum { SPHERES = 120, DEEPEST = 5, LIGHT_SAMPLES = 4, FEW = 3 };
enum material { MATTE, MIRROR, GLASS };

static const double FAR = 1e9, NEAR = 1e-6;

struct vector {
  double x, y, z;
};

struct ray {
  struct vector from, along;
};

struct sphere {
  struct vector centre, colour;
  double radius;
  enum material material;
};

struct box {
  struct vector low, high;
  int first, count, left, right; /* spheres of a leaf, or two boxes */
};

struct scene {
  struct sphere spheres[SPHERES];
  struct box boxes[2 * SPHERES];
  int count;
};

struct hit {
  double distance;
  int sphere; /* -1: the floor */
};

static struct vector make(double x, double y, double z) { return (struct vector){x, y, z}; }
static struct vector plus(struct vector a, struct vector b) { return make(a.x + b.x, a.y + b.y, a.z + b.z); }
static struct vector minus(struct vector a, struct vector b) { return make(a.x - b.x, a.y - b.y, a.z - b.z); }
static struct vector scaled(struct vector a, double s) { return make(a.x * s, a.y * s, a.z * s); }
static struct vector times(struct vector a, struct vector b) { return make(a.x * b.x, a.y * b.y, a.z * b.z); }
static double dot(struct vector a, struct vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static struct vector unit(struct vector a) { return scaled(a, 1 / sqrt(dot(a, a))); }
static double component(struct vector a, int axis) { return axis == 0 ? a.x : axis == 1 ? a.y : a.z; }

static double hit_sphere(const struct sphere *s, const struct ray *ray) {
  struct vector to = minus(s->centre, ray->from);
  double middle = dot(to, ray->along), square = s->radius * s->radius - dot(to, to) + middle * middle;
  if (square < 0)
    return FAR;
  double half = sqrt(square);
  return middle - half > NEAR ? middle - half : middle + half > NEAR ? middle + half : FAR;
}

static int hits_box(const struct box *box, const struct ray *ray, double most) {
  double least = 0;
  for (int axis = 0; axis < 3; ++axis) {
    double along = component(ray->along, axis), from = component(ray->from, axis);
    double low = component(box->low, axis), high = component(box->high, axis);
    if (fabs(along) < 1e-12) {
      if (from < low || from > high)
        return 0;
      continue;
    }
    double near = (low - from) / along, far = (high - from) / along;
    least = fmax(least, fmin(near, far));
    most = fmin(most, fmax(near, far));
  }
  return least <= most;
}

static void surround(const struct scene *scene, struct box *box) {
  box->low = make(FAR, FAR, FAR);
  box->high = make(-FAR, -FAR, -FAR);
  for (int i = box->first; i < box->first + box->count; ++i) {
    const struct sphere *s = &scene->spheres[i];
    box->low = make(fmin(box->low.x, s->centre.x - s->radius), fmin(box->low.y, s->centre.y - s->radius),
                    fmin(box->low.z, s->centre.z - s->radius));
    box->high = make(fmax(box->high.x, s->centre.x + s->radius), fmax(box->high.y, s->centre.y + s->radius),
                     fmax(box->high.z, s->centre.z + s->radius));
  }
}

/* Divide the spheres at the median of the widest axis until few are left. */
static int build(struct scene *scene, int first, int count) {
  int number = scene->count++, axis = 0;
  struct box *box = &scene->boxes[number];
  *box = (struct box){.first = first, .count = count, .left = -1, .right = -1};
  surround(scene, box);
  if (count <= FEW)
    return number;
  struct vector size = minus(box->high, box->low);
  for (int i = 1; i < 3; ++i)
    if (component(size, i) > component(size, axis))
      axis = i;
  for (int i = first + 1; i < first + count; ++i)
    for (int j = i; j > first; --j) {
      struct sphere *a = &scene->spheres[j - 1], *b = &scene->spheres[j], held = *a;
      if (component(a->centre, axis) <= component(b->centre, axis))
        break;
      *a = *b;
      *b = held;
    }
  int left = build(scene, first, count / 2), right = build(scene, first + count / 2, count - count / 2);
  box->left = left;
  box->right = right;
  return number;
}

static void find_sphere(const struct scene *scene, int number, const struct ray *ray, struct hit *hit) {
  const struct box *box = &scene->boxes[number];
  if (!hits_box(box, ray, hit->distance))
    return;
  if (box->left >= 0) {
    find_sphere(scene, box->left, ray, hit);
    find_sphere(scene, box->right, ray, hit);
    return;
  }
  for (int i = box->first; i < box->first + box->count; ++i) {
    double distance = hit_sphere(&scene->spheres[i], ray);
    if (distance < hit->distance)
      *hit = (struct hit){distance, i};
  }
}

static struct hit find_hit(const struct scene *scene, const struct ray *ray) {
  struct hit hit = {FAR, -1};
  if (ray->along.y < -1e-9)
    hit.distance = -ray->from.y / ray->along.y;
  find_sphere(scene, 0, ray, &hit);
  return hit;
}

/* Every sphere is tried: what the boxes must agree with. */
static struct hit find_slowly(const struct scene *scene, const struct ray *ray) {
  struct hit hit = {FAR, -1};
  if (ray->along.y < -1e-9)
    hit.distance = -ray->from.y / ray->along.y;
  for (int i = 0; i < SPHERES; ++i) {
    double distance = hit_sphere(&scene->spheres[i], ray);
    if (distance < hit.distance)
      hit = (struct hit){distance, i};
  }
  return hit;
}

static double light_at(const struct scene *scene, struct vector at, struct vector normal, uint64_t *state) {
  double sum = 0;
  for (int i = 0; i < LIGHT_SAMPLES; ++i) {
    double x = random_unit(state), z = random_unit(state);
    struct vector to = minus(make(4 + x, 8, -3 + z), at);
    double distance = sqrt(dot(to, to));
    struct ray ray = {at, scaled(to, 1 / distance)};
    double facing = dot(ray.along, normal);
    if (facing > 0 && find_hit(scene, &ray).distance >= distance)
      sum += facing;
  }
  return sum / LIGHT_SAMPLES;
}

static struct vector reflected(struct vector along, struct vector normal) {
  return minus(along, scaled(normal, 2 * dot(along, normal)));
}

/* Snell's law; total reflection where it has no solution. */
static struct vector refracted(struct vector along, struct vector normal) {
  double cosine = -dot(along, normal), ratio = cosine > 0 ? 1 / 1.5 : 1.5;
  if (cosine < 0) {
    normal = scaled(normal, -1);
    cosine = -cosine;
  }
  double square = 1 - ratio * ratio * (1 - cosine * cosine);
  if (square < 0)
    return reflected(along, normal);
  return unit(plus(scaled(along, ratio), scaled(normal, ratio * cosine - sqrt(square))));
}

static struct vector trace(const struct scene *scene, const struct ray *ray, int depth, uint64_t *state) {
  struct hit hit = find_hit(scene, ray);
  if (hit.distance >= FAR / 2 || depth == DEEPEST)
    return scaled(make(0.5, 0.7, 1.0), 0.5 + 0.5 * ray->along.y);
  struct vector at = plus(ray->from, scaled(ray->along, hit.distance)), normal = make(0, 1, 0);
  struct vector colour = make(0.9, 0.9, 0.9);
  enum material material = MATTE;
  if (hit.sphere >= 0) {
    const struct sphere *s = &scene->spheres[hit.sphere];
    normal = scaled(minus(at, s->centre), 1 / s->radius);
    colour = s->colour;
    material = s->material;
  } else if (((long)floor(at.x) + (long)floor(at.z)) & 1) {
    colour = make(0.2, 0.2, 0.2);
  }
  if (material == MATTE)
    return scaled(colour, 0.15 + 0.85 * light_at(scene, at, normal, state));
  struct ray next = {at, material == MIRROR ? reflected(ray->along, normal) : refracted(ray->along, normal)};
  return times(colour, trace(scene, &next, depth + 1, state));
}

static void make_scene(struct scene *scene, uint64_t *state) {
  for (int i = 0; i < SPHERES; ++i) {
    double x = 8 * random_unit(state) - 4, z = 8 * random_unit(state) - 2, radius = 0.15 + 0.4 * random_unit(state);
    double red = random_unit(state), green = random_unit(state), height = random_unit(state);
    scene->spheres[i] = (struct sphere){make(x, radius + 2 * height, z), make(0.3 + 0.7 * red, 0.3 + 0.7 * green, 0.8),
                                        radius, (enum material)random_below(state, 3)};
  }
  scene->count = 0;
  build(scene, 0, SPHERES);
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 8, 4096);
  int width = (int)input.size, height = width * 3 / 4;
  struct scene *scene = allocate(1, sizeof *scene);
  uint64_t state = input.seed, hits = 0;
  double sums[3] = {0}, darkest = FAR, brightest = 0;
  make_scene(scene, &state);
  for (int row = 0; row < height; ++row)
    for (int column = 0; column < width; ++column) {
      struct vector to = make((column + 0.5) / width * 4 - 2, 1.5 - (row + 0.5) / width * 4, 3);
      struct ray ray = {make(0, 1.5, -6), unit(to)};
      if (column % 7 == 0) {
        struct hit fast = find_hit(scene, &ray), slow = find_slowly(scene, &ray);
        FAULT(fast.distance += row == height / 2);
        check(fast.sphere == slow.sphere && fabs(fast.distance - slow.distance) < 1e-9, "the boxes hide a sphere");
        hits += fast.sphere >= 0;
      }
      struct vector colour = trace(scene, &ray, 0, &state);
      for (int i = 0; i < 3; ++i)
        sums[i] += component(colour, i);
      darkest = fmin(darkest, colour.y);
      brightest = fmax(brightest, colour.y);
    }
  check(darkest >= 0 && brightest <= 1, "a colour is out of range");
  double count = (double)width * height;
  printf("%d x %d: %llu of the checked rays hit; mean colour %.5f %.5f %.5f\n", width, height, (unsigned long long)hits,
         sums[0] / count, sums[1] / count, sums[2] / count);
  free(scene);
  return 0;
}
