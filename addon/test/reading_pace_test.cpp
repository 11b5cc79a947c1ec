#include "inline/reading_pace.h"

#include <doctest/doctest.h>

#include <vector>

using namespace floodwall;

namespace {

/// When readings begin in the tick after a fold at 1000 ms, with one that ended at `fromMs`.
std::vector<std::uint64_t> readings(std::uint64_t fromMs, std::uint32_t tookMs, bool hasRising) {
  const ReadingPace pace(100);
  std::vector<std::uint64_t> begun;
  for (std::uint64_t now = fromMs;;) {
    now += pace.pauseMs(now, tookMs, 1000, hasRising);
    if (now >= 1100) return begun;
    begun.push_back(now);
    now += tookMs;
  }
}

}  // namespace

TEST_CASE("an inline interface is read twice a tick, the second time shortly before the fold") {
  using Times = std::vector<std::uint64_t>;
  CHECK(readings(1000, 0, false) == Times{1020, 1095});
  CHECK(readings(1000, 3, false) == Times{1020, 1092});
  CHECK(readings(1019, 0, false) == Times{1095});
  CHECK(readings(1096, 0, false) == Times{});
}

TEST_CASE("an inline interface is read each 10 ms while hosts rise") {
  const std::vector<std::uint64_t> times = readings(1000, 1, true);
  REQUIRE(times.size() >= 8);
  for (std::size_t i = 1; i < times.size(); i++) CHECK(times[i] - times[i - 1] <= 11);
}

TEST_CASE("readings of an inline interface take half of the time at most, and need no fold") {
  CHECK(ReadingPace(100).pauseMs(1030, 40, 1000, true) == 40);
  CHECK(ReadingPace(100).pauseMs(1099, 0, 1000, false) == 21);
  CHECK(ReadingPace(100).pauseMs(5, 0, 0, false) == 50);
  // Folds that are late: their times go on.
  CHECK(ReadingPace(100).pauseMs(1350, 0, 1000, false) == 45);
  CHECK(ReadingPace(20).pauseMs(1000, 0, 1000, false) == 4);
}
