void (*const isr_table[8])(void) __attribute__((section(".isr_table"), used)) = {0};
int table_size(void) { return 0; }
