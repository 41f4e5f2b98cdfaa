/* Run JavaScript files, each in a runtime of its own; print() is the only function we add. */
#include "inputs.h"
#include "quickjs.h"

static JSValue print(JSContext *context, JSValueConst self, int count, JSValueConst *values) {
  (void)self;
  for (int i = 0; i < count; ++i) {
    const char *text = JS_ToCString(context, values[i]);
    printf("%s%s", i ? " " : "", text ? text : "<exception>");
    JS_FreeCString(context, text);
  }
  putchar('\n');
  return JS_UNDEFINED;
}

static void run(const char *path) {
  char *text = allocate(1 << 20);
  FILE *file = fopen(path, "rb");
  if (!file)
    fail(path);
  size_t size = fread(text, 1, (1 << 20) - 1, file);
  fclose(file);
  JSRuntime *runtime = JS_NewRuntime();
  JS_SetMaxStackSize(runtime, 4 << 20); /* enough for the frames of -O0 */
  JSContext *context = JS_NewContext(runtime), *job;
  JSValue global = JS_GetGlobalObject(context);
  JS_SetPropertyStr(context, global, "print", JS_NewCFunction(context, print, "print", 1));
  JSValue result = JS_Eval(context, text, size, "script", JS_EVAL_TYPE_GLOBAL);
  if (JS_IsException(result)) {
    JSValue error = JS_GetException(context);
    fail(JS_ToCString(context, error));
  }
  while (JS_ExecutePendingJob(runtime, &job) > 0) {
  }
  JS_FreeValue(context, result);
  JS_FreeValue(context, global);
  JS_FreeContext(context);
  JS_FreeRuntime(runtime); /* asserts that nothing leaked */
  free(text);
}

/* quickjs REPEATS FILE... */
int main(int argc, char **argv) {
  if (argc < 3)
    fail("usage: quickjs REPEATS FILE...");
  for (size_t repeats = read_size(argv[1]); repeats > 0; --repeats)
    for (int i = 2; i < argc; ++i) {
      printf("%s\n", argv[i]);
      run(argv[i]);
    }
  return 0;
}
