#include "count/window_sums.h"

#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint32_t kHosts = 50;
constexpr std::size_t kAmpleJournal = std::size_t{16} << 20;

Totals totalsOf(std::uint64_t packets) {
  Totals totals;
  totals.counts[1] = packets;
  totals.counts[Totals::kBytes + 1] = packets * 64;
  return totals;
}

/// Everything that was ever added, with the number of its bucket.
struct NaiveModel {
  struct Added {
    std::uint64_t bucket;
    std::uint32_t host;
    Direction direction;
    Totals totals;
  };
  std::vector<Added> all;

  [[nodiscard]] Totals sum(std::uint32_t host, Direction direction, std::uint64_t now, std::uint32_t buckets) const {
    Totals sum;
    for (const Added& added : all) {
      if (added.host == host && added.direction == direction && added.bucket + buckets > now) sum.add(added.totals);
    }
    return sum;
  }
};

struct Window {
  Window(std::uint32_t windowMs, std::uint32_t tickMs, std::size_t journalBytes = kAmpleJournal)
      : clock(windowMs, tickMs), sums({kHosts, true, journalBytes}, clock) {}

  void advance(std::uint64_t nowNs) {
    const auto count = [&](const std::vector<JournalEntry>& entries) {
      for (const JournalEntry& entry : entries) left += entry.totals.packets();
    };
    while (sums.leave(clock.numberAt(nowNs), count)) {
    }
    clock.advance(nowNs);
  }

  BucketClock clock;
  WindowSums sums;
  std::uint64_t left = 0;
};

Totals randomTotals(Random& random) {
  Totals totals;
  for (std::uint64_t& count : totals.counts) {
    // Seldom anything, seldom large: numbers of very different lengths come up, in sums of up to 36 bits.
    if (random.below(3) == 0) count = random.bits() >> 32 >> random.below(32);
  }
  return totals;
}

}  // namespace

TEST_CASE("sums agree with an exact model over random traffic, ticks and gaps") {
  SHOW_SEED();
  Random random;
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> shapes = {
      {1000, 100}, {200, 20}, {2000, 100}, {5000, 100}, {60'000, 1000}, {4600, 200}, {1000, 1000}};
  for (const auto& shape : shapes) {
    const std::uint32_t windowMs = shape.first, tickMs = shape.second;
    CAPTURE(windowMs);
    CAPTURE(tickMs);
    Window window(windowMs, tickMs);
    NaiveModel model;
    std::uint64_t nowNs = random.below(1'000'000) * kMs;
    for (int tick = 0; tick < 150; tick++) {
      // Mostly on time, sometimes early or late by less than half a tick, sometimes after a gap.
      const std::uint64_t ticks = random.below(20) == 0 ? 1 + random.below(3 * windowMs / tickMs) : 1;
      nowNs += ticks * tickMs * kMs;
      const std::uint64_t jitterNs = random.below(tickMs * kMs / 2);
      window.advance(nowNs + jitterNs);
      for (std::uint64_t i = random.below(20); i != 0; i--) {
        const auto host = static_cast<std::uint32_t>(random.below(kHosts));
        const auto direction = static_cast<Direction>(random.below(2));
        const Totals totals = randomTotals(random);
        window.sums.add(host, direction, totals);
        model.all.push_back({window.clock.number(), host, direction, totals});
      }
      for (std::uint32_t host = 0; host < kHosts; host++) {
        for (const Direction direction : {Direction::incoming, Direction::outgoing}) {
          REQUIRE(window.sums.of(host, direction).counts ==
                  model.sum(host, direction, window.clock.number(), window.clock.buckets()).counts);
        }
      }
    }
    CHECK(window.sums.carried() == 0);
    window.advance(nowNs + 2 * std::uint64_t{windowMs} * kMs);
    for (std::uint32_t host = 0; host < kHosts; host++) CHECK(window.sums.isEmpty(host));
  }
}

TEST_CASE("a full journal loses nothing: what has no room is carried, and leaves a bucket later") {
  SHOW_SEED();
  Random random;
  // One chunk a bucket and nothing to spare: some 1,500 entries, where 20,000 come.
  Window window(1000, 100, 1);
  std::uint64_t added = 0;
  std::uint64_t nowNs = 0;
  for (int tick = 0; tick < 40; tick++) {
    window.advance(nowNs += 100 * kMs);
    for (int i = 0; i < 20'000; i++) {
      window.sums.add(static_cast<std::uint32_t>(random.below(kHosts)), Direction::incoming, totalsOf(1));
      added++;
    }
    std::uint64_t held = 0;
    for (std::uint32_t host = 0; host < kHosts; host++) held += window.sums.of(host, Direction::incoming).packets();
    REQUIRE(held + window.left == added);
  }
  CHECK(window.sums.carried() > 0);
  for (int tick = 0; tick < 12; tick++) window.advance(nowNs += 100 * kMs);
  CHECK(window.left == added);
  for (std::uint32_t host = 0; host < kHosts; host++) CHECK(window.sums.isEmpty(host));
}

TEST_CASE("the window is divided by its own length while the process is young") {
  Window window(1000, 100);
  window.advance(500 * kMs);
  CHECK(window.clock.seconds() == doctest::Approx(1));
  window.advance(600 * kMs);
  CHECK(window.clock.seconds() == doctest::Approx(1));
}

TEST_CASE("late folds make the window longer, not the rates higher") {
  Window window(1000, 100);
  std::uint64_t nowNs = 0;
  for (int tick = 0; tick < 10; tick++) window.advance(nowNs += 100 * kMs);
  CHECK(window.clock.seconds() == doctest::Approx(1));
  // This fold's counts were made in 400 ms; the buckets that were missed are empty.
  window.advance(nowNs += 400 * kMs);
  CHECK(window.clock.seconds() == doctest::Approx(1.0));
  for (int tick = 0; tick < 9; tick++) window.advance(nowNs += 100 * kMs);
  // The late fold's bucket is the oldest now, and covers 300 ms more than it is wide.
  CHECK(window.clock.seconds() == doctest::Approx(1.3));
  window.advance(nowNs += 100 * kMs);
  CHECK(window.clock.seconds() == doctest::Approx(1));
}

TEST_CASE("many ticks share at most twenty buckets") {
  CHECK(BucketClock(1000, 50).buckets() == 20);
  CHECK(BucketClock(1000, 50).isFine());
  CHECK(BucketClock(60'000, 100).buckets() == 20);
  CHECK_FALSE(BucketClock(60'000, 100).isFine());
  // 23 ticks of two: eleven whole buckets.
  CHECK(BucketClock(4600, 200).buckets() == 11);
}
