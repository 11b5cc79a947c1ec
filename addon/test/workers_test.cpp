// Workers, fold and readers at the same time: nothing is lost and nothing counted twice.
#include <arpa/inet.h>
#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <thread>

#include "engine_fixture.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint32_t kCountedHosts = 3000;
/// Where the destination's address lies in a frame over Ethernet and IPv4.
constexpr std::size_t kDestinationAt = 14 + 16;
constexpr std::uint64_t kMs = 1'000'000;
/// TSan makes all of it many times slower, and finds a race that has done no harm yet.
#ifdef __SANITIZE_THREAD__
constexpr int kFewer = 8;
#else
constexpr int kFewer = 1;
#endif

/// Counts frames to random hosts until stopped, idle now and then; returns how many went to each host.
std::vector<std::uint64_t> work(Shard& shard, std::uint64_t seed, const std::atomic<bool>& isOver) {
  std::mt19937_64 random(seed);
  std::vector<Bytes> bytes;
  for (std::uint32_t i = 0; i < kCountedHosts; i++) bytes.push_back(udpFrame(kForeign, kProtected + i));
  std::vector<std::uint64_t> sent(kCountedHosts);
  std::vector<Frame> frames;
  shard.leaveIdle();
  while (!isOver.load(std::memory_order_relaxed)) {
    frames.clear();
    for (std::size_t i = random() % 200; i != 0; i--) {
      // Few hosts often, many seldom.
      const std::size_t host = random() % (random() % 2 == 0 ? 10 : kCountedHosts);
      frames.push_back(frameOf(bytes[host]));
      sent[host]++;
    }
    shard.countFrames(frames, Link::ethernet);
    if (random() % 16 != 0) continue;
    shard.enterIdle();
    std::this_thread::yield();
    shard.leaveIdle();
  }
  shard.enterIdle();
  return sent;
}

}  // namespace

TEST_CASE("counts of two workers add up exactly while folds, readers and changes of networks go on" *
          doctest::test_suite("threads")) {
  SHOW_SEED();
  Random random;
  // A window that holds all of it, so that the sums at the end are the whole.
  Engine engine({.maxHosts = 10'000, .windowMs = 60'000, .tickMs = 100, .countOutgoing = false, .idleMs = 3'600'000});
  setNetworks(engine, usualNetworks());
  std::vector<std::shared_ptr<Shard>> shards = {engine.addShard(), engine.addShard()};
  std::atomic<bool> isOver = false;
  std::vector<std::vector<std::uint64_t>> sent(shards.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < shards.size(); i++) {
    threads.emplace_back([&, i, seed = random.bits()] { sent[i] = work(*shards[i], seed, isOver); });
  }
  threads.emplace_back([&] {
    Columns columns(500);
    std::vector<std::uint8_t> records(100 * sizeof(sample_record));
    // Everywhere, and the first group.
    std::vector<sample_place> places(2);
    places[0].group = RECORD_NO_GROUP;
    std::vector<std::uint32_t> counts(places.size());
    std::vector<profile_row> profiles(50);
    std::vector<profile_record> profile(50);
    while (!isOver.load(std::memory_order_relaxed)) {
      for (std::int64_t cursor = 0; cursor >= 0;) cursor = engine.readHosts(cursor, columns.spans()).next;
      engine.readScreened(columns.spans());
      engine.readGroups(columns.spans());
      engine.readSamples(ipv4(kProtected + 1), records);
      engine.readSamplesOf(places, records, counts, 50);
      for (std::int64_t cursor = 0; cursor >= 0;) cursor = engine.readProfiles(cursor, profiles).next;
      engine.readProfile(ipv4(kProtected + 2), profile);
      engine.setWatched(ipv4(kProtected + 1).bytes);
      engine.setWatched({});
      (void)shards[0]->stats();
    }
  });
  std::uint64_t nowNs = kMs;
  for (int fold = 0; fold < 300 / kFewer; fold++) {
    // The same networks under new identifiers: rows are matched again, counts stay.
    if (fold % 10 == 5) setNetworks(engine, {{ipv4(kProtected), 112, 1, 1}, {ipv6(1, 0), 48, 0, 0}});
    if (fold % 10 == 0) setNetworks(engine, usualNetworks());
    engine.fold(nowNs += 100 * kMs);
    std::this_thread::yield();
  }
  isOver = true;
  for (std::thread& thread : threads) thread.join();
  // What was handed over while the last fold ran.
  engine.fold(nowNs += 100 * kMs);

  Columns columns(1);
  std::uint64_t all = 0;
  for (std::uint32_t host = 0; host < kCountedHosts; host++) {
    const std::uint64_t expected = sent[0][host] + sent[1][host];
    all += expected;
    if (expected == 0) continue;
    CAPTURE(host);
    REQUIRE(engine.readHost(ipv4(kProtected + host), columns.spans()));
    REQUIRE(columns.row(0).incoming(Metric::pps) * 60 == doctest::Approx(static_cast<double>(expected)).epsilon(1e-9));
  }
  std::uint64_t counted = 0;
  for (const auto& shard : shards) {
    const ShardStats stats = shard->stats();
    CHECK(stats.receivedPackets == stats.countedPackets);
    counted += stats.countedPackets;
  }
  CHECK(counted == all);
  CHECK(all > 0);
}

namespace {

/// A worker sends to `hosts` that change, `step` by `step`, under folds: about three packets to each before the next.
EngineStats sendUnderFolds(std::uint32_t maxHosts, std::uint32_t hosts, std::uint32_t step) {
  Random random;
  Engine engine({.maxHosts = maxHosts, .windowMs = 200, .tickMs = 20, .countOutgoing = false, .idleMs = 200});
  setNetworks(engine, usualNetworks());
  std::shared_ptr<Shard> shard = engine.addShard();
  std::atomic<bool> isOver = false;
  std::atomic<std::uint64_t> sent = 0;
  std::thread worker([&, seed = random.bits()] {
    std::mt19937_64 numbers(seed);
    Bytes bytes = udpFrame(kForeign, kProtected);
    shard->leaveIdle();
    for (std::uint32_t first = 0; !isOver.load(std::memory_order_relaxed); first += step) {
      for (int i = 0; i < 400; i++) {
        const std::uint32_t host = (first + static_cast<std::uint32_t>(numbers() % hosts)) % 65536;
        // In place: to build a frame takes longer than to count it.
        const std::uint32_t destination = htonl(kProtected + host);
        std::memcpy(bytes.data() + kDestinationAt, &destination, sizeof destination);
        const Frame frame = frameOf(bytes);
        shard->countFrames(std::span(&frame, 1), Link::ethernet);
        sent++;
      }
      shard->enterIdle();
      std::this_thread::yield();
      shard->leaveIdle();
    }
    shard->enterIdle();
  });
  // Every host's packets are seen in the sums of their group, each for one window: ten folds.
  double seen = 0;
  std::uint64_t nowNs = 0;
  Columns columns(2);
  const auto foldOnce = [&] {
    engine.fold(nowNs += 20 * kMs);
    engine.readGroups(columns.spans());
    seen += columns.row(0).incoming(Metric::pps) * 0.2;
  };
  for (int fold = 0; fold < 400 / kFewer; fold++) {
    const std::uint64_t before = sent;
    foldOnce();
    while (sent < before + 3 * hosts) std::this_thread::yield();
  }
  isOver = true;
  worker.join();
  for (int fold = 0; fold < 12; fold++) foldOnce();
  CHECK(seen / 10 == doctest::Approx(static_cast<double>(sent)).epsilon(1e-6));
  CHECK(engine.stats().trackedHosts <= maxHosts);
  CHECK(shard->stats().receivedPackets == sent);
  return engine.stats();
}

}  // namespace

TEST_CASE("rows that come and go under folds lose no packet" * doctest::test_suite("threads")) {
  SHOW_SEED();
  // Few rows and a short life: rows are freed and given to other hosts all the time.
  sendUnderFolds(600, 40, 40);
}

TEST_CASE("rows and hosts that are replaced by others under folds lose no packet" * doctest::test_suite("threads")) {
  SHOW_SEED();
  // More hosts at once than there are rows, so that some are evicted with every fold.
  const EngineStats stats = sendUnderFolds(200, 300, 1);
  CHECK(stats.evictedRows > 0);
  CHECK(stats.replacedHosts > 0);
}

TEST_CASE("hosts that rise are read beside the workers that count them" * doctest::test_suite("threads")) {
  SHOW_SEED();
  Random random;
  Engine engine({.maxHosts = 10'000, .windowMs = 200, .tickMs = 20, .countOutgoing = false, .idleMs = 200});
  setNetworks(engine, usualNetworks());
  std::vector<double> screens(4 * kMetrics, std::numeric_limits<double>::infinity());
  // Any host is beyond it, so that each is worth a look as long as it rises.
  screens[0] = 1e-3;
  engine.setScreens(screens);
  std::vector<std::shared_ptr<Shard>> shards = {engine.addShard(), engine.addShard()};
  std::atomic<bool> isOver = false;
  std::vector<std::thread> threads;
  for (const auto& shard : shards) {
    threads.emplace_back([&, seed = random.bits()] { work(*shard, seed, isOver); });
  }
  Columns columns(kRisingMax);
  std::size_t seen = 0;
  std::uint64_t nowNs = kMs;
  for (int fold = 0; seen == 0 || fold < 200 / kFewer; fold++) {
    engine.fold(nowNs += 20 * kMs);
    for (int look = 0; look < 3; look++) {
      seen += engine.readRising(columns.spans());
      std::this_thread::yield();
    }
  }
  isOver = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(seen > 0);
}
