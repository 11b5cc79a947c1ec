#include "learn/baseline_table.h"

#include <doctest/doctest.h>

#include <set>

#include "learn/baseline_rows.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint32_t kNone = BaselineTable::kNone;

/// Keys 0, 1, 2, … that share most of their bytes, as addresses of one network do.
Address key(std::uint32_t n) {
  Address key;
  for (std::size_t i = 0; i < 4; i++) key.bytes[15 - i] = static_cast<std::uint8_t>(n >> 8 * i);
  return key;
}

}  // namespace

TEST_CASE("the table of baselines finds what was added, each with values of its own") {
  BaselineTable table(100, 2);
  for (std::uint32_t n = 0; n < 100; n++) {
    const std::uint32_t row = table.findOrAdd(key(n), 1000 + n);
    for (std::uint32_t side = 0; side < 2; side++) {
      const auto value = static_cast<float>(10 * n + side);
      table.side(row, side) = {.learned = value, .normal = {value, value + 2, value + 4}};
    }
  }
  for (std::uint32_t n = 0; n < 100; n++) {
    const std::uint32_t row = table.find(key(n));
    REQUIRE(row != kNone);
    REQUIRE(table.lastTraffic(row) == 1000 + n);
    REQUIRE(table.side(row, 0).learned == static_cast<float>(10 * n));
    REQUIRE(table.side(row, 1).normal[2] == static_cast<float>(10 * n + 5));
  }
  CHECK(table.find(key(100)) == kNone);
}

TEST_CASE("the table of baselines finds every row and nothing else while its index grows, and when it is full") {
  constexpr std::uint32_t kCapacity = 50'000;
  BaselineTable table(kCapacity, 1);
  for (std::uint32_t n = 0; n < kCapacity; n++) {
    table.findOrAdd(key(n), 0);
    if (n % 1999 != 0) continue;
    for (std::uint32_t known = n % 101; known <= n; known += 101) REQUIRE(table.find(key(known)) == known);
    REQUIRE(table.find(key(n + 1)) == kNone);
  }
  CHECK(table.findOrAdd(key(kCapacity), BaselineTable::kIdleSeconds) == 0);
  CHECK(table.count() == kCapacity);
  CHECK(table.find(key(0)) == kNone);
  CHECK(table.find(key(1)) == 1);
}

TEST_CASE("the table of baselines refuses keys while all rows have recent traffic, and counts them") {
  BaselineTable table(4, 1);
  for (std::uint32_t n = 0; n < 4; n++) table.findOrAdd(key(n), 1000);
  CHECK(table.findOrAdd(key(4), 1000 + BaselineTable::kIdleSeconds - 1) == kNone);
  CHECK(table.findOrAdd(key(4), 0) == kNone);
  CHECK(table.count() == 4);
  CHECK(table.refused() == 2);
  CHECK(table.find(key(3)) == 3);
}

TEST_CASE("the place of one that is silent for long is given away, and of those the one that knows least") {
  BaselineTable table(4, 1);
  for (std::uint32_t n = 0; n < 4; n++) {
    table.side(table.findOrAdd(key(n), n == 1 ? BaselineTable::kIdleSeconds : 0), 0).learned =
        static_cast<float>(50 - n);
  }
  table.addSeasons(4, 0);
  table.seasons()->findOrAdd(3, true, [](std::uint32_t) { return false; });
  CHECK(table.findOrAdd(key(9), BaselineTable::kIdleSeconds) == 3);
  CHECK(table.side(3, 0).learned == 0);
  CHECK(table.lastTraffic(3) == BaselineTable::kIdleSeconds);
  CHECK(table.seasons()->find(3) == SeasonTable::kNone);
  CHECK(table.find(key(3)) == kNone);
  CHECK(table.find(key(9)) == 3);
}

TEST_CASE("the table of baselines finds exactly what it holds, however many come and go") {
  SHOW_SEED();
  Random random;
  BaselineTable table(64, 1);
  for (std::uint32_t now = 0; now < 5000; now++) {
    const Address of = key(static_cast<std::uint32_t>(random.below(500)));
    const std::uint32_t row = table.findOrAdd(of, now * 20);
    REQUIRE((row == kNone || table.find(of) == row));
  }
  std::set<std::uint32_t> held;
  for (std::uint32_t n = 0; n < 500; n++) {
    if (table.find(key(n)) != kNone) held.insert(table.find(key(n)));
  }
  CHECK(held.size() == 64);
}

TEST_CASE("rows that are copied out and taken in are the same, in a table of as many directions") {
  BaselineTable table(10, 2), other(10, 2), incoming(10, 1);
  for (std::uint32_t n = 0; n < 3; n++) {
    const std::uint32_t row = table.findOrAdd(key(n), 1000);
    table.side(row, 1) = {.learned = static_cast<float>(n), .normal = {1, 2, 3}};
  }
  std::vector<std::uint8_t> bytes(3 * baselineBytes(2)), again(bytes.size());
  copyBaselines(table, 0, 1500, bytes);
  takeBaselines(other, bytes, 2, 5000);
  CHECK(other.lastTraffic(2) == 4500);
  copyBaselines(other, 0, 5000, again);
  CHECK(bytes == again);
  takeBaselines(incoming, bytes, 2, 5000);
  CHECK(incoming.count() == 3);
  // Half a row is none.
  takeBaselines(incoming, std::span(bytes).first(baselineBytes(2) - 1), 2, 5000);
  CHECK(incoming.count() == 3);
}
