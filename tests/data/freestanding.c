// Without a C library, for machines that have none here: a checksum, a table, a switch, floating point, recursion.
typedef unsigned char byte;
typedef unsigned int word;

static const word table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                               0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                               0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

word checksum(const byte *data, word length) {
  word sum = ~0u;
  for (word i = 0; i < length; i++) {
    sum ^= data[i];
    sum = (sum >> 4) ^ table[sum & 15];
    sum = (sum >> 4) ^ table[sum & 15];
  }
  return ~sum;
}

static int states[4];

int step(int state, int input) {
  switch (state) {
  case 0: return input == 'a' ? 1 : 0;
  case 1: states[1]++; return input == 'b' ? 2 : 0;
  case 2: states[2] += input; return input == 'c' ? 3 : 1;
  case 3: return step(2, input - 1);
  case 4: return states[1] * 3 + input;
  case 5: return states[2] ^ input;
  default: return -1;
  }
}

int run(const char *text) {
  int state = 0;
  while (*text)
    state = step(state, *text++);
  return state;
}

float mean(const float *values, int count) {
  float sum = 0;
  for (int i = 0; i < count; i++)
    sum += values[i];
  return count ? sum / (float)count : 0;
}

static int depth(const int *parents, int node) { return node <= 0 ? 0 : 1 + depth(parents, parents[node]); }

int deepest(const int *parents, int count) {
  int most = 0;
  for (int node = 0; node < count; node++) {
    int found = depth(parents, node);
    if (found > most)
      most = found;
  }
  return most;
}

void insert(int *values, int count, int value) {
  int at = count;
  while (at > 0 && values[at - 1] > value) {
    values[at] = values[at - 1];
    at--;
  }
  values[at] = value;
}

int main(void) { return run("abc") + (int)checksum((const byte *)"abc", 3) + deepest(states, 4); }
