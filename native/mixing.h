// Random numbers that are the same on every machine.
#pragma once

#include <cstdint>

namespace burnish {

// SplitMix64 (Steele, Lea, Flood 2014).
inline uint64_t mixed(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

} // namespace burnish
