// Full tables: light hosts are replaced by heavy ones, whatever the rate of those that fill them.
#include <doctest/doctest.h>

#include <deque>
#include <numeric>

#include "engine_fixture.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint32_t kMaxHosts = 1024, kDecoys = 1500, kTicksOfSecond = 10;
const Address kVictim = ipv4(kProtected + 0xffff);

/// Sends on one shard, as its worker does, and knows how much.
class Sender {
 public:
  explicit Sender(std::shared_ptr<Shard> shard, std::uint32_t firstHost = 0)
      : shard_(std::move(shard)), firstHost_(firstHost) {}

  void send(std::uint32_t host, std::uint32_t times) {
    const Bytes bytes = udpFrame(kForeign, kProtected + host);
    const std::vector<Frame> frames(times, frameOf(bytes));
    shard_->leaveIdle();
    shard_->countFrames(frames, Link::ethernet);
    shard_->enterIdle();
    sent_ += times;
  }
  /// A tick of decoys, with the packets of a flood between them. Below one packet a tick they take turns.
  void tick(double packetsPerTick, std::uint32_t decoys, std::uint32_t flood) {
    const std::uint32_t turns = packetsPerTick < 1 ? static_cast<std::uint32_t>(1 / packetsPerTick) : 1;
    const auto times = std::max(static_cast<std::uint32_t>(packetsPerTick), 1U);
    for (std::uint32_t i = 0; i < decoys; i++) {
      if (i % turns == ticks_ % turns) send(firstHost_ + i, times);
      if (flood != 0 && i % (decoys / kParts) == 0) send(0xffff, flood / kParts);
    }
    ticks_++;
  }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  void checkStats() const {
    const ShardStats stats = shard_->stats();
    CHECK(stats.receivedPackets == sent_);
    CHECK(stats.countedPackets + stats.untrackedPackets == sent_);
  }

  static constexpr std::uint32_t kParts = 10;

 private:
  std::shared_ptr<Shard> shard_;
  std::uint32_t firstHost_;
  std::uint32_t ticks_ = 0;
  std::uint64_t sent_ = 0;
};

/// The packets of the last second, tick by tick.
class LastSecond {
 public:
  void add(std::uint64_t sentInAll) {
    ticks_.push_back(sentInAll - before_);
    before_ = sentInAll;
    if (ticks_.size() > kTicksOfSecond) ticks_.pop_front();
  }
  [[nodiscard]] double packets() const {
    return static_cast<double>(std::accumulate(ticks_.begin(), ticks_.end(), std::uint64_t{0}));
  }

 private:
  std::deque<std::uint64_t> ticks_;
  std::uint64_t before_ = 0;
};

}  // namespace

TEST_CASE("a flood gets a row within a few folds in a table that decoys keep full, at any rate of theirs") {
  for (const double packetsPerTick : {0.2, 2.0, 30.0}) {
    CAPTURE(packetsPerTick);
    EngineFixture fixture({.maxHosts = kMaxHosts});
    Sender sender(fixture.shard);
    LastSecond second;
    const auto tick = [&](double perTick, std::uint32_t flood) {
      sender.tick(perTick, kDecoys, flood);
      const TickSummary summary = fixture.tick();
      REQUIRE(summary.trackedHosts <= kMaxHosts);
      second.add(sender.sent());
      REQUIRE(fixture.group(0).incoming(Metric::pps) == second.packets());
    };
    tick(100, 0);
    for (int i = 0; i < 20; i++) tick(packetsPerTick, 0);
    REQUIRE(fixture.engine.stats().trackedHosts > kMaxHosts * 15 / 16);
    REQUIRE_FALSE(fixture.host(kVictim));
    for (int i = 0; i < 3; i++) tick(packetsPerTick, 10'000);
    CHECK(fixture.pps(kVictim) > 10'000);
    for (int i = 0; i < 20; i++) tick(packetsPerTick, 10'000);
    CHECK(fixture.pps(kVictim) == doctest::Approx(100'000).epsilon(0.01));
    sender.checkStats();
  }
}

TEST_CASE("floods on many hosts at once get their rows") {
  EngineFixture fixture({.maxHosts = kMaxHosts});
  Sender sender(fixture.shard);
  sender.tick(100, kDecoys, 0);
  fixture.tick();
  constexpr std::uint32_t kFloods = 50;
  for (int tick = 0; tick < 20; tick++) {
    for (std::uint32_t i = 0; i < kDecoys; i++) {
      sender.send(i, 2);
      if (i % (kDecoys / kFloods) == 0) sender.send(kDecoys + i / (kDecoys / kFloods), 500);
    }
    fixture.tick();
  }
  for (std::uint32_t i = 0; i < kFloods; i++) {
    CAPTURE(i);
    REQUIRE(fixture.pps(ipv4(kProtected + kDecoys + i)) == doctest::Approx(5000).epsilon(0.1));
  }
  sender.checkStats();
}

TEST_CASE("of a full table of one shard a lighter host gets no place, a heavier one that of another") {
  EngineFixture fixture({.maxHosts = 100});
  Sender sender(fixture.shard);
  for (std::uint32_t i = 0; i < 100; i++) sender.send(i, 200);
  fixture.tick();
  sender.send(100, 150);
  CHECK(fixture.tick().trackedHosts == 100);
  CHECK_FALSE(fixture.host(ipv4(kProtected + 100)));
  for (int i = 0; i < 3; i++) fixture.tick();
  sender.send(101, 1000);
  CHECK(fixture.tick().trackedHosts == 100);
  CHECK(fixture.pps(ipv4(kProtected + 101)) > 800);
  CHECK(fixture.engine.stats().replacedHosts == 1);
  // Nothing of those that were replaced or found no place is missing in the group's sum.
  CHECK(fixture.group(0).incoming(Metric::pps) == static_cast<double>(sender.sent()));
  fixture.tick(20);
  CHECK(fixture.group(0).incoming(Metric::pps) == 0);
}

TEST_CASE("a host in attack keeps its row and its place, however light it is") {
  EngineFixture fixture({.maxHosts = kMaxHosts});
  Sender sender(fixture.shard);
  sender.send(0xfffe, 100);
  fixture.tick();
  const Address quiet = ipv4(kProtected + 0xfffe);
  fixture.engine.setWatched(quiet.bytes);
  sender.tick(100, kDecoys, 0);
  fixture.tick();
  for (int tick = 0; tick < 50; tick++) {
    sender.tick(30, kDecoys, 10'000);
    sender.send(0xfffe, 1);
    fixture.tick();
    REQUIRE(fixture.host(quiet));
  }
  CHECK(fixture.pps(quiet) == 10);
  sender.checkStats();
}

TEST_CASE("a flood on one of two shards gets a place where the hosts of both fill the table") {
  EngineFixture fixture({.maxHosts = kMaxHosts});
  const auto second = fixture.engine.addShard();
  Sender one(fixture.shard), other(second, kDecoys);
  const auto tick = [&](double ofOne, double ofOther, std::uint32_t flood) {
    one.tick(ofOne, kDecoys, flood);
    other.tick(ofOther, kDecoys, 0);
    fixture.tick();
  };
  tick(100, 100, 0);
  // The decoys of the other shard are heavier, so that no row of the first has a place.
  for (int i = 0; i < 20; i++) tick(10, 30, 0);
  for (int i = 0; i < 5; i++) tick(10, 30, 10'000);
  CHECK(fixture.pps(kVictim) > 10'000);
  for (int i = 0; i < 20; i++) tick(10, 30, 10'000);
  CHECK(fixture.pps(kVictim) == doctest::Approx(100'000).epsilon(0.01));
  CHECK(fixture.group(0).incoming(Metric::pps) == 10 * (10'000 + 40 * kDecoys));
  one.checkStats();
  other.checkStats();
}

TEST_CASE("a host that is light on one shard and heavy on another keeps its row on both") {
  EngineFixture fixture({.maxHosts = kMaxHosts});
  const auto second = fixture.engine.addShard();
  Sender one(fixture.shard), other(second);
  one.send(0xffff, 100);
  other.send(0xffff, 10'000);
  one.tick(100, kDecoys, 0);
  fixture.tick();
  const std::uint64_t before = fixture.shard->stats().untrackedPackets;
  std::uint64_t toOthers = 0;
  for (int tick = 0; tick < 60; tick++) {
    one.send(0xffff, 1);
    other.send(0xffff, 10'000);
    one.tick(30, kDecoys, 0);
    fixture.tick();
    toOthers += 30ULL * kDecoys;
  }
  CHECK(fixture.shard->stats().untrackedPackets - before < toOthers);
  CHECK(fixture.pps(kVictim) == 100'010);
}
