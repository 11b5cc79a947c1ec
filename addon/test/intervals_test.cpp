#include "count/intervals.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <optional>

#include "engine_fixture.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

const Address kHost = ipv4(kProtected + 1), kOther = ipv4(kProtected + 2);
const Bytes kFrame = udpFrame(kForeign + 1, kProtected + 1), kOtherFrame = udpFrame(kForeign + 1, kProtected + 2);
const Bytes kReply = udpFrame(kProtected + 1, kForeign + 1);

struct IntervalRow {
  Address address;
  std::array<double, kIntervalValues> incoming, outgoing;
};

/// Room for this number of rows.
class IntervalRows {
 public:
  explicit IntervalRows(std::size_t rows)
      : addresses_(rows * 16), groups_(rows), incoming_(rows * kIntervalValues), outgoing_(rows * kIntervalValues) {}
  IntervalColumns spans() { return {addresses_, groups_, incoming_, outgoing_}; }
  [[nodiscard]] IntervalRow row(std::size_t i) const {
    IntervalRow row{};
    std::copy_n(&addresses_[i * 16], 16, row.address.bytes.begin());
    std::copy_n(&incoming_[i * kIntervalValues], kIntervalValues, row.incoming.begin());
    std::copy_n(&outgoing_[i * kIntervalValues], kIntervalValues, row.outgoing.begin());
    return row;
  }

 private:
  std::vector<std::uint8_t> addresses_;
  std::vector<std::uint32_t> groups_;
  std::vector<double> incoming_, outgoing_;
};

std::vector<IntervalRow> take(Engine& engine, std::size_t chunk = 100) {
  std::vector<IntervalRow> rows;
  IntervalRows columns(chunk);
  for (std::int64_t cursor = 0; cursor >= 0;) {
    const HostChunk taken = engine.takeIntervals(cursor, columns.spans());
    for (std::size_t i = 0; i < taken.count; i++) rows.push_back(columns.row(i));
    cursor = taken.next;
  }
  return rows;
}

}  // namespace

TEST_CASE("an interval has the exact sums, and the highest rate of all folds") {
  EngineFixture fixture;
  fixture.engine.keepIntervals();
  fixture.count(kFrame, 300);
  fixture.tick(5);
  fixture.count(kFrame, 200);
  fixture.tick(20);
  fixture.count(kFrame, 1);
  fixture.tick();
  const std::vector<IntervalRow> rows = take(fixture.engine);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].address == kHost);
  const double megabits = static_cast<double>(kFrame.size()) * 8e-6;
  CHECK(rows[0].incoming[0] == 501);
  CHECK(rows[0].incoming[1] == doctest::Approx(501 * megabits));
  CHECK(rows[0].incoming[2] >= 1);
  CHECK(rows[0].incoming[3] == doctest::Approx(500));
  CHECK(rows[0].incoming[4] == doctest::Approx(500 * megabits));
  CHECK(rows[0].outgoing == std::array<double, kIntervalValues>{});
}

TEST_CASE("the highest rates of a sampled host come with their standard deviations") {
  EngineFixture fixture;
  fixture.engine.keepIntervals();
  fixture.shard->setSamplingRate(100);
  fixture.count(kFrame, 50);
  fixture.tick(20);
  fixture.count(kFrame, 3);
  fixture.tick();
  const std::vector<IntervalRow> rows = take(fixture.engine);
  REQUIRE(rows.size() == 1);
  const auto& values = rows[0].incoming;
  CHECK(values[3] == doctest::Approx(5000));
  // Of 50 samples, each of which stands for 100 packets.
  CHECK(values[6] == doctest::Approx(std::sqrt(99 * 5000)));
  CHECK(values[7] == doctest::Approx(std::sqrt(99 * 5000) * static_cast<double>(kFrame.size()) * 8e-6));
  CHECK(values[8] == doctest::Approx(std::sqrt(99 * values[5])));
  CHECK(rows[0].outgoing == std::array<double, kIntervalValues>{});
}

TEST_CASE("the highest rates of a host that is not sampled are exact, also beside one that is") {
  EngineFixture fixture;
  fixture.engine.keepIntervals();
  const auto sampled = fixture.engine.addShard();
  sampled->setSamplingRate(100);
  const std::vector<Frame> frames(50, frameOf(kOtherFrame));
  sampled->leaveIdle();
  sampled->countFrames(frames, Link::ethernet);
  sampled->enterIdle();
  fixture.count(kFrame, 300);
  fixture.tick();
  const std::vector<IntervalRow> rows = take(fixture.engine);
  REQUIRE(rows.size() == 2);
  const std::size_t exact = rows[0].address == kHost ? 0 : 1;
  CHECK(rows[exact].incoming[3] == doctest::Approx(300));
  CHECK(rows[exact].incoming[6] == 0);
  CHECK(rows[1 - exact].incoming[6] > 0);
}

TEST_CASE("a host whose number a sampled one had is exact") {
  EngineFixture fixture({.idleMs = 1000});
  fixture.engine.keepIntervals();
  fixture.shard->setSamplingRate(100);
  fixture.count(kFrame, 50);
  fixture.tick(200);
  REQUIRE(take(fixture.engine).size() == 1);
  fixture.tick(200);
  fixture.shard->setSamplingRate(1);
  fixture.count(kOtherFrame, 300);
  fixture.tick();
  const std::vector<IntervalRow> rows = take(fixture.engine);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].incoming[3] == doctest::Approx(300));
  CHECK(rows[0].incoming[6] == 0);
}

TEST_CASE("what was taken is not in the next interval") {
  EngineFixture fixture;
  fixture.engine.keepIntervals();
  fixture.count(kFrame, 300);
  fixture.tick();
  CHECK(take(fixture.engine).size() == 1);
  fixture.tick();
  CHECK(take(fixture.engine).empty());
  fixture.tick(10);
  fixture.count(kFrame, 7);
  fixture.tick();
  const std::vector<IntervalRow> rows = take(fixture.engine);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].incoming[0] == 7);
  CHECK(rows[0].incoming[3] == doctest::Approx(7));
}

TEST_CASE("hosts are taken chunk by chunk, in both directions") {
  EngineFixture fixture({.countOutgoing = true});
  fixture.engine.keepIntervals();
  fixture.count(kFrame, 3);
  fixture.count(kReply, 2);
  fixture.count(kOtherFrame, 4);
  fixture.tick();
  const std::vector<IntervalRow> rows = take(fixture.engine, 1);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].incoming[0] == 3);
  CHECK(rows[0].outgoing[0] == 2);
  CHECK(rows[1].address == kOther);
  CHECK(rows[1].incoming[0] == 4);
}

TEST_CASE("reading a host takes nothing") {
  EngineFixture fixture;
  IntervalRows columns(1);
  fixture.count(kFrame, 3);
  fixture.tick();
  CHECK_FALSE(fixture.engine.readInterval(kHost, columns.spans()));
  fixture.engine.keepIntervals();
  fixture.tick();
  fixture.count(kFrame, 5);
  fixture.tick();
  for (int time = 0; time < 2; time++) {
    REQUIRE(fixture.engine.readInterval(kHost, columns.spans()));
    CHECK(columns.row(0).incoming[0] == 5);
  }
  CHECK_FALSE(fixture.engine.readInterval(kOther, columns.spans()));
}

TEST_CASE("an idle host stays until its counts are taken, and leaves them to no host") {
  EngineFixture fixture({.idleMs = 1000});
  fixture.engine.keepIntervals();
  fixture.count(kFrame, 3);
  fixture.tick(200);
  CHECK(fixture.host(kHost).has_value());
  REQUIRE(take(fixture.engine).size() == 1);
  fixture.tick(200);
  CHECK_FALSE(fixture.host(kHost).has_value());
  fixture.count(kOtherFrame, 4);
  fixture.tick();
  const std::vector<IntervalRow> rows = take(fixture.engine);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].incoming[0] == 4);
}

TEST_CASE("in a crowded table an idle host leaves with its counts") {
  EngineFixture fixture({.maxHosts = 1, .idleMs = 60'000});
  fixture.engine.keepIntervals();
  fixture.count(kFrame, 3);
  fixture.tick(400);
  CHECK_FALSE(fixture.host(kHost).has_value());
  fixture.count(kOtherFrame, 4);
  fixture.tick();
  const std::vector<IntervalRow> rows = take(fixture.engine);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].address == kOther);
  CHECK(rows[0].incoming[0] == 4);
}
