#pragma once
#include <stddef.h>
#include <stdint.h>

class Print {
public:
  virtual size_t write(uint8_t letter) = 0;
  virtual size_t write(const uint8_t *letters, size_t count);
  size_t print(const char *text);
  size_t print(long number, int base = 10);
  size_t print(double number, int digits = 2);
  template <typename T> size_t println(T value) { return print(value) + print("\n"); }
};

class Semihosted : public Print {
public:
  using Print::write;
  size_t write(uint8_t letter) override;
  unsigned count = 0;
};

extern Semihosted Serial;
extern "C" {
unsigned long millis(void);
void yield(void);
void setup(void);
void loop(void);
}
