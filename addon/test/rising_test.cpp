// What is seen of hosts between two folds.
#include <doctest/doctest.h>

#include <set>

#include "engine_fixture.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

const Address kHost = ipv4(kProtected + 1);
const Bytes kFrame = udpFrame(kForeign + 1, kProtected + 1);
constexpr double kScreenPps = 1000;

struct RisingFixture : EngineFixture {
  explicit RisingFixture(EngineOptions options = {}) : EngineFixture(options) { setScreen(kScreenPps); }

  void setScreen(double pps) {
    std::vector<double> screens(4 * kMetrics, std::numeric_limits<double>::infinity());
    screens[0] = pps;
    engine.setScreens(screens);
  }
  std::vector<HostRow> look() {
    Columns columns(kRisingMax);
    const std::uint32_t count = engine.readRising(columns.spans());
    std::vector<HostRow> rows;
    for (std::size_t i = 0; i < count; i++) rows.push_back(columns.row(i));
    return rows;
  }
};

}  // namespace

TEST_CASE("a flood is seen between two folds, with the packet that brings its host to the screen") {
  // From floods that begin with a tick to those that begin late in it; a packet is 1 ms of ten times the screen.
  for (const std::uint32_t inFirstTick : {500U, 300U, 100U}) {
    CAPTURE(inFirstTick);
    RisingFixture fixture;
    fixture.tick(5);
    fixture.count(kFrame, inFirstTick);
    CHECK(fixture.tick().rising == 1);
    CHECK(fixture.screened().empty());
    fixture.count(kFrame, 1000 - inFirstTick - 1);
    CHECK(fixture.look().empty());
    fixture.count(kFrame);
    const std::vector<HostRow> rows = fixture.look();
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].address == kHost);
    CHECK(rows[0].group == 0);
    CHECK(rows[0].network == 0);
    CHECK(rows[0].incoming(Metric::pps) == doctest::Approx(kScreenPps));
    // What others read is that of the last fold.
    CHECK(fixture.pps(kHost) == doctest::Approx(inFirstTick));
    CHECK(fixture.group(0).incoming(Metric::pps) == doctest::Approx(inFirstTick));
    CHECK(fixture.screened().empty());
  }
}

TEST_CASE("a host comes once, and again when it has risen further") {
  RisingFixture fixture;
  fixture.count(kFrame, 600);
  fixture.tick();
  fixture.count(kFrame, 400);
  CHECK(fixture.look().size() == 1);
  CHECK(fixture.look().empty());
  fixture.count(kFrame, 1);
  CHECK(fixture.look().size() == 1);
  CHECK(fixture.tick().screened == 1);
  // The fold has handed it over.
  CHECK(fixture.look().empty());
  fixture.count(kFrame, 1);
  CHECK(fixture.look().size() == 1);
}

TEST_CASE("a flood that grows slowly is seen when it crosses, in whichever tick") {
  RisingFixture fixture;
  unsigned sent = 0;
  // 1.2 times the screen.
  for (; sent + 120 <= 960; sent += 120) {
    fixture.count(kFrame, 120);
    fixture.tick();
    CHECK(fixture.look().empty());
  }
  fixture.count(kFrame, 39);
  CHECK(fixture.look().empty());
  fixture.count(kFrame);
  CHECK(fixture.look().size() == 1);
}

TEST_CASE("what leaves the window with the next tick does not count") {
  RisingFixture fixture;
  fixture.count(kFrame, 100);
  fixture.tick(9);
  fixture.count(kFrame, 500);
  CHECK(fixture.tick().rising == 1);
  fixture.count(kFrame, 499);
  CHECK(fixture.look().empty());
  fixture.count(kFrame, 1);
  CHECK(fixture.look().size() == 1);
  CHECK(fixture.tick().screened == 1);
}

TEST_CASE("quiet, steady and watched hosts are not looked at") {
  RisingFixture fixture;
  fixture.engine.setWatched(kHost.bytes);
  for (int i = 0; i < 12; i++) {
    // Its rate is 0.7 of the screen, that of another beyond it.
    fixture.count(udpFrame(kForeign, kProtected + 2), 70);
    fixture.count(udpFrame(kForeign, kProtected + 3), 150);
    const TickSummary summary = fixture.tick();
    if (i == 11) CHECK(summary.rising == 0);
  }
  fixture.count(kFrame, 900);
  CHECK(fixture.tick().rising == 0);
  fixture.count(kFrame, 900);
  CHECK(fixture.look().empty());
}

TEST_CASE("a flood that reaches its host through several workers is seen as one") {
  RisingFixture fixture;
  const std::vector<std::shared_ptr<Shard>> shards = {fixture.engine.addShard(), fixture.engine.addShard()};
  const std::vector<Frame> frames(200, frameOf(kFrame));
  const auto count = [&] {
    for (const auto& shard : shards) {
      shard->leaveIdle();
      shard->countFrames(frames, Link::ethernet);
      shard->enterIdle();
    }
    fixture.count(kFrame, 200);
  };
  count();
  CHECK(fixture.tick().rising == 1);
  count();
  REQUIRE(fixture.look().size() == 1);
}

TEST_CASE("a worker that ended is no longer read") {
  RisingFixture fixture;
  fixture.count(kFrame, 600);
  fixture.shard.reset();
  CHECK(fixture.tick().rising == 0);
  CHECK(fixture.look().empty());
}

TEST_CASE("of more hosts than are looked at, those are that rise the most") {
  RisingFixture fixture;
  // First steady traffic, so that all of them rise by less than the one that was silent.
  const auto all = [&](std::uint64_t packets) {
    for (std::uint32_t host = 2; host < kRisingMax + 100; host++) {
      fixture.count(udpFrame(kForeign, kProtected + host), packets);
    }
  };
  all(500);
  fixture.tick();
  all(300);
  fixture.count(kFrame, 800);
  CHECK(fixture.tick().rising == kRisingMax);
  all(300);
  fixture.count(kFrame, 300);
  const std::vector<HostRow> rows = fixture.look();
  REQUIRE(rows.size() == kRisingMax);
  CHECK(std::any_of(rows.begin(), rows.end(), [](const HostRow& row) { return row.address == kHost; }));
}

TEST_CASE("a look is never ahead of the next fold, and lacks nothing but hosts that did not rise before") {
  SHOW_SEED();
  Random random;
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> shapes = {
      {1000, 100}, {200, 20}, {2000, 100}, {1000, 1000}, {5000, 100}};
  for (const auto& shape : shapes) {
    const std::uint32_t windowMs = shape.first, tickMs = shape.second;
    CAPTURE(windowMs);
    CAPTURE(tickMs);
    RisingFixture fixture({.windowMs = windowMs, .tickMs = tickMs, .countOutgoing = true});
    // With one bucket, only what came since the last fold stays.
    if (windowMs == tickMs) fixture.setScreen(150);
    std::size_t seen = 0;
    for (int tick = 0; tick < 120; tick++) {
      std::set<std::uint32_t> found;
      for (int part = 0; part < 4; part++) {
        for (std::uint32_t host = 0; host < 8; host++) {
          // Hosts are quiet and busy by turns.
          const bool isBusy = (static_cast<std::uint32_t>(tick) + 7 * host) / 15 % 3 == 0;
          fixture.count(udpFrame(kForeign, kProtected + host), random.below(isBusy ? 100 : 4));
        }
        for (const HostRow& row : fixture.look()) {
          found.insert(static_cast<std::uint32_t>(row.address.bytes[15]));
          seen++;
        }
      }
      fixture.tick();
      std::set<std::uint32_t> folded;
      for (const HostRow& row : fixture.screened()) folded.insert(static_cast<std::uint32_t>(row.address.bytes[15]));
      REQUIRE(std::includes(folded.begin(), folded.end(), found.begin(), found.end()));
    }
    // A window of this number of ticks has several of them in a bucket.
    CHECK((seen == 0) == (windowMs == 5000));
  }
}
