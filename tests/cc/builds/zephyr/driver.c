#include "kernel.h"
static int open_uart(int mode) { return mode * 3 + CONFIG_LEVEL; }
ITERABLE(device, uart) = {"uart", open_uart};
static int open_adc(int mode) { return mode * 5 - 1; }
ITERABLE(device, adc) = {"adc", open_adc};
int ready;
static void prepare(void) { ready = 7; }
INIT(prepare, LATE);
static void early(void) { ready = 100; }
INIT(early, EARLY);
int ticks;
void tick(void) { ticks++; }
IRQ(5, tick);
ITERABLE_RAM(state, counters) = {4};
