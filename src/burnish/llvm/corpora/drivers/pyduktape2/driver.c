/* Run JavaScript files, each in a heap of its own; print() is the only function we add. */
#include "inputs.h"

#include "duktape.h"

static duk_ret_t print(duk_context *context) {
  duk_idx_t count = duk_get_top(context);
  for (duk_idx_t i = 0; i < count; ++i)
    printf("%s%s", i ? " " : "", duk_safe_to_string(context, i));
  putchar('\n');
  return 0;
}

static void run(const char *path) {
  char *text = allocate(1 << 20);
  FILE *file = fopen(path, "rb");
  if (!file)
    fail(path);
  size_t size = fread(text, 1, (1 << 20) - 1, file);
  fclose(file);
  duk_context *context = duk_create_heap_default();
  if (!context)
    fail("duk_create_heap");
  duk_push_c_function(context, print, DUK_VARARGS);
  duk_put_global_string(context, "print");
  if (duk_peval_lstring(context, text, size))
    fail(duk_safe_to_string(context, -1));
  duk_destroy_heap(context);
  free(text);
}

/* pyduktape2 REPEATS FILE... */
int main(int argc, char **argv) {
  if (argc < 3)
    fail("usage: pyduktape2 REPEATS FILE...");
  for (size_t repeats = read_size(argv[1]); repeats > 0; --repeats)
    for (int i = 2; i < argc; ++i) {
      printf("%s\n", argv[i]);
      run(argv[i]);
    }
  return 0;
}
