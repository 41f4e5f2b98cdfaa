int asked(void) { return 42; }
