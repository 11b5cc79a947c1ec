#include "learn/season_table.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace floodwall;

namespace {

constexpr auto kNever = [](std::uint32_t) { return false; };
constexpr auto kAlways = [](std::uint32_t) { return true; };
constexpr std::uint32_t kNone = SeasonTable::kNone;

}  // namespace

TEST_CASE("a rate in a byte is at most 5.1 % off, from a hundredth of a megabit to ten billion packets") {
  for (double rate = 1.0 / 64; rate < std::exp2(30); rate *= 1.01) {
    REQUIRE(std::abs(rateOfCode(codeOfRate(rate)) / rate - 1) < 0.0511);
  }
}

TEST_CASE("a rate in a byte keeps none apart from what is not learned, and has an end") {
  CHECK(codeOfRate(0) == 1);
  CHECK(codeOfRate(1e-9) == 1);
  CHECK(rateOfCode(1) == 0);
  CHECK(rateOfCode(0) == 0);
  CHECK(codeOfRate(1e300) == 255);
}

TEST_CASE("places for hostgroups as a whole are kept beside those of hosts") {
  SeasonTable seasons(4, 1, 1, 1);
  CHECK(seasons.findOrAdd(0, true, kNever) == 0);
  CHECK(seasons.findOrAdd(1, true, kNever) == kNone);
  CHECK(seasons.findOrAdd(2, false, kNever) == 1);
  CHECK(seasons.findOrAdd(3, false, kNever) == kNone);
  CHECK(seasons.rows() == std::vector<std::uint32_t>{0, 2});
  CHECK(seasons.refused() == 2);
}

TEST_CASE("a freed place is used again, and starts from zero") {
  SeasonTable seasons(4, 2, 1, 0);
  const std::uint32_t place = seasons.findOrAdd(3, true, kNever);
  seasons.codes(place, 1)[7] = 99;
  seasons.hour(place, 1).seconds = 5;
  CHECK(seasons.findOrAdd(2, true, kAlways) == place);
  CHECK(seasons.find(3) == kNone);
  CHECK(seasons.count() == 1);
  CHECK(seasons.codes(place, 1)[7] == 0);
  CHECK(seasons.hour(place, 1).seconds == 0);
}

TEST_CASE("a pass looks at no more idle rows than its bound") {
  constexpr std::uint32_t kHosts = 1000;
  SeasonTable seasons(2 * kHosts, 1, kHosts, 0);
  for (std::uint32_t row = 0; row < kHosts; row++) seasons.findOrAdd(row, true, kNever);
  std::uint32_t looks = 0;
  seasons.beginPass();
  for (std::uint32_t row = kHosts; row < 2 * kHosts; row++) {
    seasons.findOrAdd(row, true, [&](std::uint32_t) {
      looks++;
      return false;
    });
  }
  CHECK(looks == 256);
  CHECK(seasons.refused() == kHosts);
}

TEST_CASE("an hour enters its slot at the start of another one, if it had traffic for ten minutes") {
  for (const double seconds : {599.0, 600.0}) {
    SeasonTable seasons(1, 1, 1, 0);
    const std::uint32_t place = seasons.findOrAdd(0, true, kNever);
    const std::array<float, kBaseTrio> recent = {1, 1, 1};
    seasons.startHour(place, 0, {.hour = 1000, .intoSeconds = 0}, recent.data());
    seasons.learn(place, 0, {64, 8, 0}, seconds);
    CHECK_FALSE(seasons.isLearned(place, 0, 1000));
    seasons.startHour(place, 0, {.hour = 1001, .intoSeconds = 0}, recent.data());
    CHECK(seasons.isLearned(place, 0, 1000) == (seconds >= 600));
    if (seconds < 600) continue;
    // A week later, after the ten minutes in which it moves there.
    const HourMoment later{.hour = 1168, .intoSeconds = 600};
    CHECK(seasons.normal(place, 0, 0, later, 1) == doctest::Approx(64).epsilon(0.052));
    CHECK(seasons.normal(place, 0, 2, later, 1) == 0);
    CHECK(seasons.normal(place, 0, 0, {.hour = 1168, .intoSeconds = 0}, 1) == 1);
  }
}
