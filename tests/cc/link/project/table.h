struct row {
  int key;
  const char *name;
};
extern const struct row ROWS[];
extern int calls;
int find(int key, int from, int flags);
int checksum(const char *text, int modulus);
int twice(int value);
int never_called(int value);
