// Randomness for tests: a new seed in each run, printed when a check fails, set by TEST_SEED to see it again.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <random>

namespace floodwall::test {

inline std::uint64_t seedOfRun() {
  static const std::uint64_t seed = [] {
    const char* const given = std::getenv("TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  }();
  return seed;
}

class Random {
 public:
  Random() : engine_(seedOfRun()) {}
  /// Uniform over [0, bound).
  std::uint64_t below(std::uint64_t bound) {
    return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(engine_);
  }
  std::uint64_t bits() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace floodwall::test

/// The first line of every test that uses Random.
#define SHOW_SEED() INFO("TEST_SEED=", ::floodwall::test::seedOfRun())
