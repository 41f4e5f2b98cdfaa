int warns(int a) {
  int unused;
  return a;
}
