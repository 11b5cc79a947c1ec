// Counts that are released over time: what comes out at which time, and that all of it comes out once.
#include "count/spread_pool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "packets.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr SpreadPool::Owner kRow{SpreadPool::OwnerKind::row, 7};
constexpr Kind kUdp{Class::udp, false, false};
constexpr std::uint32_t kTickMs = 100;

/// A pool that is visited as a whole every tick, and what that releases.
class Spread {
 public:
  Spread() { pool.setTime(nowMs); }

  void add(std::uint64_t packets, std::uint32_t durationMs, const SpreadPool::Owner& owner = kRow) {
    const Amount amount{packets, packets * 100, 0, {static_cast<double>(packets) * 9, 0}};
    REQUIRE(pool.add(owner, ipv4(kProtected), Direction::incoming, kUdp, amount, durationMs));
    added += packets;
  }
  /// The packets of each tick.
  std::vector<std::uint64_t> run(std::uint32_t ms) {
    std::vector<std::uint64_t> ticks;
    for (; ms >= kTickMs; ms -= kTickMs) {
      pool.setTime(nowMs += kTickMs);
      Amount tick;
      pool.visit(
          pool.round(), [](const SpreadPool::Entry&) {},
          [&](const SpreadPool::Entry&, const Amount& amount) {
            tick.packets += amount.packets;
            tick.bytes += amount.bytes;
            variance += amount.variance.packets;
          });
      released += tick.packets;
      releasedBytes += tick.bytes;
      ticks.push_back(tick.packets);
    }
    return ticks;
  }

  SpreadPool pool{{.entries = 64, .rows = 16, .places = 4, .countOutgoing = true}};
  std::uint64_t nowMs = 1'000'000, added = 0, released = 0, releasedBytes = 0;
  double variance = 0;
};

}  // namespace

TEST_CASE("a record is released at a steady rate over the time that it lasted, and wholly") {
  Spread spread;
  spread.add(60'000, 60'000);
  const auto ticks = spread.run(61'000);
  for (std::size_t i = 0; i < 599; i++) {
    CHECK(ticks[i] >= 99);
    CHECK(ticks[i] <= 101);
  }
  CHECK(spread.released == 60'000);
  CHECK(spread.releasedBytes == 6'000'000);
  CHECK(spread.variance == doctest::Approx(540'000).epsilon(0.001));
  CHECK(spread.pool.inUse() == 0);
}

TEST_CASE("few packets of a long record come one by one") {
  Spread spread;
  spread.add(60, 60'000);
  const auto ticks = spread.run(61'000);
  CHECK(*std::max_element(ticks.begin(), ticks.end()) == 1);
  CHECK(spread.released == 60);
}

TEST_CASE("a late visit also covers the time before it") {
  Spread spread;
  spread.add(60'000, 60'000);
  spread.nowMs += 30'000 - kTickMs;
  CHECK(spread.run(kTickMs).front() == doctest::Approx(30'000).epsilon(0.001));
}

/// Exporters send a record of each long flow once a minute, of many flows at times of their own.
TEST_CASE("a stream of records of a minute shows its rate") {
  SHOW_SEED();
  Random random;
  for (const std::uint32_t flows : {1U, 3U, 10U, 200U}) {
    CAPTURE(flows);
    Spread spread;
    std::vector<std::uint64_t> dueMs;
    for (std::uint32_t i = 0; i < flows; i++) dueMs.push_back(spread.nowMs + random.below(60'000));
    const std::uint64_t startMs = spread.nowMs;
    for (std::uint32_t second = 0; second < 600; second++) {
      for (std::uint64_t& due : dueMs) {
        if (due >= spread.nowMs + 1000) continue;
        spread.add(600'000 / flows, 60'000);
        due += 60'000;
      }
      std::uint64_t sum = 0;
      for (const std::uint64_t tick : spread.run(1000)) sum += tick;
      // The first records of the flows come within a minute.
      if (spread.nowMs < startMs + 61'000) continue;
      CHECK(static_cast<double>(sum) == doctest::Approx(10'000).epsilon(flows > SpreadPool::kEndsMax ? 0.07 : 0.01));
    }
    spread.run(120'000);
    CHECK(spread.released == spread.added);
    CHECK(spread.releasedBytes == spread.added * 100);
  }
}

TEST_CASE("a short flood beside a long download keeps the rate of both") {
  Spread spread;
  spread.add(600'000, 60'000);
  spread.add(3'000'000, 3'000);
  const auto ticks = spread.run(62'000);
  CHECK(ticks[10] == doctest::Approx(101'000).epsilon(0.01));
  CHECK(ticks[40] == doctest::Approx(1'000).epsilon(0.01));
  CHECK(spread.released == spread.added);
}

TEST_CASE("records of a row that goes to another host are of their address, and those of places too") {
  Spread spread;
  spread.add(1000, 10'000);
  spread.add(1000, 10'000, {SpreadPool::OwnerKind::place, 2});
  CHECK(spread.pool.hasRow(7));
  spread.pool.leaveRow(7);
  CHECK_FALSE(spread.pool.hasRow(7));
  spread.pool.leavePlaces();
  std::uint32_t visited = 0;
  spread.pool.setTime(spread.nowMs += 1000);
  spread.pool.visit(
      spread.pool.round(), [](const SpreadPool::Entry&) {},
      [&](const SpreadPool::Entry& entry, const Amount&) {
        visited++;
        CHECK(entry.ownerKind == SpreadPool::OwnerKind::address);
        CHECK(entry.address == ipv4(kProtected));
        CHECK(entry.packets != 0);
      });
  CHECK(visited == 2);
  // A new host of the row has an entry of its own.
  spread.add(1000, 10'000);
  CHECK(spread.pool.inUse() == 3);
  spread.run(11'000);
  CHECK(spread.pool.inUse() == 0);
}

TEST_CASE("a full pool takes no more, and has room again when a record is over") {
  Spread spread;
  const Amount amount{1000, 1000, 0, {}};
  const auto add = [&](std::uint8_t row, const Kind& kind) {
    return spread.pool.add({SpreadPool::OwnerKind::row, row}, ipv4(kProtected + row), Direction::outgoing, kind, amount,
                           5'000);
  };
  // 16 rows, four kinds.
  for (std::uint8_t i = 0; i < 64; i++) {
    REQUIRE(add(i % 16, {static_cast<Class>(i / 16), false, false}));
  }
  CHECK_FALSE(add(1, {Class::udp, false, true}));
  CHECK(add(1, {Class::udp, false, false}));
  spread.run(20'000);
  CHECK(add(1, {Class::udp, false, true}));
}
