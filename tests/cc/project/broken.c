int broken(int a) { return a +; }
