/* QEMU's side of a plugin's interface: version 1, or version 2 if VERSION is 2. It executes one block of five
   instructions three times: host PLUGIN FILE. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef void (*translated)(uint64_t, void *);
typedef void (*executed)(unsigned, void *);
typedef void (*ended)(uint64_t, void *);

static translated on_block;
static ended on_end;
static uint64_t *counts[5];
static executed on_execution;
static void *data_of_execution, *data_of_end;
static char block[1], instructions[5];

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translated call) { on_block = call, (void)id; }
size_t qemu_plugin_tb_n_insns(const void *of) { return of == block ? 5 : 0; }
void *qemu_plugin_tb_get_insn(const void *of, size_t i) { return of == block ? &instructions[i] : NULL; }
void qemu_plugin_register_atexit_cb(uint64_t id, ended call, void *data) {
  on_end = call, data_of_end = data, (void)id;
}
void qemu_plugin_register_vcpu_tb_exec_cb(void *of, executed call, int flags, void *data) {
  if (of == block && !flags) on_execution = call, data_of_execution = data;
}
#if VERSION == 2
void *qemu_plugin_scoreboard_new(size_t size) { return (void)size, NULL; }
#else
void qemu_plugin_register_vcpu_insn_exec_inline(char *at, int operation, void *count, uint64_t add) {
  if (!operation && add == 1) counts[at - instructions] = count;
}
#endif

int main(int count, char **words) {
  void *plugin = count == 3 ? dlopen(words[1], RTLD_NOW) : NULL;
  if (!plugin) return puts(dlerror()), 1;
  int (*install)(uint64_t, const void *, int, char **) = dlsym(plugin, "qemu_plugin_install");
  if (*(int *)dlsym(plugin, "qemu_plugin_version") != VERSION) return puts("another version"), 2;
  char file[4096];
  snprintf(file, sizeof file, "count=%s", words[2]);
  if (!install(7, NULL, 0, NULL)) return puts("without a file"), 3;
  if (install(7, NULL, 1, (char *[]){file})) return puts("not installed"), 4;
  on_block(7, block);
  for (int times = 0; times < 3; times++) {
    for (int i = 0; i < 5; i++)
      if (counts[i]) ++*counts[i];
    if (on_execution) on_execution(0, data_of_execution);
  }
  on_end(7, data_of_end);
  return 0;
}
