/* Structures by value and by reference, bit fields, unions. */
struct point {
  int x, y, z;
};

struct box {
  struct point low, high;
  unsigned color : 12, filled : 1, layer : 5;
};

union word {
  unsigned value;
  unsigned char bytes[4];
};

static struct point add(struct point a, struct point b) {
  struct point sum = {a.x + b.x, a.y + b.y, a.z + b.z};
  return sum;
}

struct box move(struct box box, struct point by) {
  box.low = add(box.low, by);
  box.high = add(box.high, by);
  return box;
}

int volume(const struct box *box) {
  int x = box->high.x - box->low.x, y = box->high.y - box->low.y, z = box->high.z - box->low.z;
  return x > 0 && y > 0 && z > 0 ? x * y * z : 0;
}

void paint(struct box *boxes, int count, unsigned color) {
  for (int i = 0; i < count; ++i)
    if (boxes[i].filled && boxes[i].layer < 4) {
      struct box copy = boxes[i];
      copy.color = color;
      copy.layer = copy.layer + 1;
      boxes[i] = copy;
    }
}

unsigned swap_bytes(unsigned value) {
  union word from = {value}, to;
  for (int i = 0; i < 4; ++i)
    to.bytes[i] = from.bytes[3 - i];
  return to.value;
}
