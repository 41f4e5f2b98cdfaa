static unsigned long ticks;

unsigned long millis(void) { return ticks; }
__attribute__((weak)) void yield(void) {}
void SysTick_Handler(void) { ticks++; }
