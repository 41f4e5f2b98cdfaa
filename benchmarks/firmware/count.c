/* A plugin of QEMU that prints how many instructions were executed. Declarations are those of qemu-plugin.h. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct block;
struct instruction;

extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t, void (*)(uint64_t, struct block *));
extern size_t qemu_plugin_tb_n_insns(const struct block *);
extern struct instruction *qemu_plugin_tb_get_insn(const struct block *, size_t);
extern void qemu_plugin_register_vcpu_insn_exec_inline(struct instruction *, int, void *, uint64_t);
extern void qemu_plugin_register_atexit_cb(uint64_t, void (*)(uint64_t, void *), void *);

int qemu_plugin_version = 1;
static uint64_t executed;

static void translated(uint64_t plugin, struct block *block) {
  (void)plugin;
  for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++)
    qemu_plugin_register_vcpu_insn_exec_inline(qemu_plugin_tb_get_insn(block, i), 0, &executed, 1);
}

static void ended(uint64_t plugin, void *data) {
  (void)plugin, (void)data;
  fprintf(stderr, "instructions: %llu\n", (unsigned long long)executed);
}

int qemu_plugin_install(uint64_t plugin, const void *about, int count, char **words) {
  (void)about, (void)count, (void)words;
  qemu_plugin_register_vcpu_tb_trans_cb(plugin, translated);
  qemu_plugin_register_atexit_cb(plugin, ended, NULL);
  return 0;
}
