#include "Print.h"

int main() {
  setup();
  while (millis() < 3) {
    loop();
    yield();
  }
  Serial.println((long)Serial.count);
  return 0;
}
