#include "kernel.h"
extern char __data_load[], __data_start[], __data_end[], __bss_start[], __bss_end[], __stack[];
int main(void);
void exit(int) __attribute__((noreturn));
extern void (*const isr_table[])(void);
void tick(void);
__attribute__((weak, noreturn)) void fault(void) { for (;;) ; }
__attribute__((noreturn)) void _start(void) {
  for (int i = 0; i < __data_end - __data_start; i++) __data_start[i] = __data_load[i];
  for (char *at = __bss_start; at < __bss_end; at++) *at = 0;
  extern const struct init __init_start[], __init_end[];
  for (const struct init *it = __init_start; it < __init_end; it++) it->run();
  exit(main());
}
const void *const _vectors[] __attribute__((section(".vectors"), used)) = {__stack, (void *)_start, fault, fault};
