#define ITERABLE(kind, id)                                                                                             \
  const struct kind id __attribute__((section("._" #kind ".static." #id), used, aligned(4)))
#define ITERABLE_RAM(kind, id)                                                                                         \
  struct kind id __attribute__((section("._" #kind ".static." #id), used, aligned(4)))
#define INIT(id, level)                                                                                                \
  static const struct init init_##id __attribute__((section(".z_init_" #level "_" #id), used)) = {id}
#define IRQ(number, handler)                                                                                           \
  static const struct interrupt irq_##number __attribute__((section(".intlist"), used)) = {number, handler}
#define FOREACH(kind, it)                                                                                              \
  extern const struct kind _##kind##_list_start[], _##kind##_list_end[];                                               \
  for (const struct kind *it = _##kind##_list_start; it < _##kind##_list_end; it++)

struct device {
  const char *name;
  int (*open)(int mode);
};
struct command {
  const char *name;
  int (*run)(const char *text);
};
struct state {
  int count;
};
struct init {
  void (*run)(void);
};
struct interrupt {
  int number;
  void (*handler)(void);
};
