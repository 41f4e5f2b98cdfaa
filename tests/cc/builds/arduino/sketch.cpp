#include "Print.h"

#include <math.h>

extern "C" void SysTick_Handler(void);

struct Sensor {
  explicit Sensor(int pin) : pin(pin) {}
  double read(unsigned long time) const { return 20 + 5 * sin(time + pin); }
  int pin;
};

static Sensor &sensor() {
  static Sensor one(7);
  return one;
}

void yield(void) { SysTick_Handler(); }
void setup(void) { Serial.println("ready"); }
void loop(void) {
  Serial.print((long)millis());
  Serial.print(" ");
  Serial.println(sensor().read(millis()));
}
