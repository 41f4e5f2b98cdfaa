// A plugin of QEMU that counts executed instructions: -plugin _count_plugin.so,count=PATH. The declarations are those
// of qemu-plugin.h. Version 1 of the interface counts in translated code. Version 2 and later, since QEMU 9, have
// another way for that; there each translated block calls a function.
#include <cstdint>
#include <cstdio>
#include <cstring>

struct qemu_plugin_tb;
struct qemu_plugin_insn;

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define IF_THERE extern "C" __attribute__((weak))

IF_THERE void *qemu_plugin_scoreboard_new(size_t size); // since version 2
IF_THERE void qemu_plugin_register_vcpu_insn_exec_inline(qemu_plugin_insn *, int, void *, uint64_t);
extern "C" void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb *, void (*)(unsigned, void *), int, void *);
extern "C" void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t, void (*)(uint64_t, qemu_plugin_tb *));
extern "C" size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb *);
extern "C" qemu_plugin_insn *qemu_plugin_tb_get_insn(const qemu_plugin_tb *, size_t);
extern "C" void qemu_plugin_register_atexit_cb(uint64_t, void (*)(uint64_t, void *), void *);

EXPORTED const int qemu_plugin_version;
const int qemu_plugin_version = qemu_plugin_scoreboard_new ? 2 : 1; // QEMU reads it after dlopen

namespace {

uint64_t executed;
const char *path;

void translated(uint64_t, qemu_plugin_tb *block) {
  const size_t count = qemu_plugin_tb_n_insns(block);
  if (qemu_plugin_version == 1)
    for (size_t i = 0; i < count; i++)
      qemu_plugin_register_vcpu_insn_exec_inline(qemu_plugin_tb_get_insn(block, i), 0, &executed, 1);
  else
    qemu_plugin_register_vcpu_tb_exec_cb(
        block, [](unsigned, void *instructions) { executed += reinterpret_cast<uintptr_t>(instructions); }, 0,
        reinterpret_cast<void *>(count));
}

void ended(uint64_t, void *) {
  if (FILE *file = fopen(path, "w")) {
    fprintf(file, "%llu\n", static_cast<unsigned long long>(executed));
    fclose(file);
  }
}

} // namespace

EXPORTED int qemu_plugin_install(uint64_t plugin, const void *, int count, char **words) {
  for (int i = 0; i < count; i++)
    if (!strncmp(words[i], "count=", 6))
      path = strdup(words[i] + 6); // for the end of the process
  if (!path)
    return -1;
  qemu_plugin_register_vcpu_tb_trans_cb(plugin, translated);
  qemu_plugin_register_atexit_cb(plugin, ended, nullptr);
  return 0;
}
