#include "learn/host_learner.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "engine_fixture.h"
#include "learn/baseline_rows.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint32_t kHosts = 40'000;

LearnedGroup learned() {
  return {.isWhole = false, .rule = BaselineRule{.halfLifeSeconds = 60, .factor = 3, .floor = {1, 1, 1}}};
}

std::vector<std::uint8_t> bytesOf(const std::vector<Address>& addresses) {
  std::vector<std::uint8_t> bytes;
  for (const Address& address : addresses) bytes.insert(bytes.end(), address.bytes.begin(), address.bytes.end());
  return bytes;
}

/// A learner in its first second, and rows of hosts in group 0 and network 0 with this number of packets per second.
struct Learning {
  HostLearner learner{100'000, 2};
  GuardedSums sums{16};

  Learning() {
    learner.setGroups({learned()});
    learner.beginPass({.moment = {.nowSeconds = 1000, .seconds = 1}, .hour = {}, .idleSeconds = 0, .windowMs = 1000});
    sums.sums.setNetworks({{.length = 24, .isIpv4 = true}});
  }

  void learn(const std::vector<Address>& hosts, double pps, double idleMs = 0) {
    std::vector<std::uint8_t> addresses = bytesOf(hosts);
    std::vector<std::uint32_t> groups(hosts.size()), networks(hosts.size());
    std::vector<double> idle(hosts.size(), idleMs), rates(hosts.size() * kMetrics, pps);
    std::vector<double> weights(hosts.size() * kWeights);
    learner.learnRows({addresses, groups, networks, idle, rates, rates, weights}, hosts.size(), &sums);
  }
  /// Seconds learned of a direction; -1: nothing.
  double seconds(const Address& host, std::size_t side = 0) const {
    std::array<double, 2 * Baselines::kReadValues> out{};
    const std::uint32_t group = 0;
    learner.read(host.bytes, {&group, 1}, out);
    return out[side * Baselines::kReadValues];
  }
  double sum(std::size_t prefix) {
    std::vector<double> all(16 * kMetrics), squares(16 * kMetrics), variances(32);
    sums.sums.read({all, squares, variances});
    return all[prefix * kMetrics];
  }
};

const Address kOne = ipv4(kProtected + 1), kTwo = ipv4(kProtected + 2), kNext = ipv4(kProtected + 256);

}  // namespace

TEST_CASE("hosts are learned in both directions, unless they are silent") {
  Learning learning;
  learning.learn({kOne}, 10);
  learning.learn({kTwo}, 10, 1000);
  CHECK(learning.seconds(kOne, 0) == 1);
  CHECK(learning.seconds(kOne, 1) == 1);
  CHECK(learning.seconds(kTwo) == -1);
}

TEST_CASE("an attacked host is not learned in the direction of its attack, nor summed") {
  Learning learning;
  learning.learner.setSpared(std::make_shared<const SparedHosts>(
      bytesOf({kOne}), bytesOf({kOne, kTwo}), std::span<const std::uint8_t>(), std::span<const std::uint8_t>()));
  learning.learn({kOne, kTwo, kNext}, 10);
  CHECK(learning.seconds(kOne) == -1);
  CHECK(learning.seconds(kTwo, 0) == 1);
  CHECK(learning.seconds(kTwo, 1) == 0);
  CHECK(learning.sum(0) == 10);
}

TEST_CASE("banned hosts and hosts of banned prefixes are not learned, but summed") {
  Learning learning;
  const std::vector<std::uint8_t> lengths = {128, 120};
  learning.learner.setSpared(std::make_shared<const SparedHosts>(
      std::span<const std::uint8_t>(), std::span<const std::uint8_t>(), bytesOf({kOne, kNext}), lengths));
  learning.learn({kOne, kTwo, kNext, ipv4(kProtected + 300)}, 10);
  CHECK(learning.seconds(kOne) == -1);
  CHECK(learning.seconds(kTwo) == 1);
  CHECK(learning.seconds(ipv4(kProtected + 300)) == -1);
  CHECK(learning.sum(0) == 20);
  CHECK(learning.sum(1) == 20);
}

TEST_CASE("nothing incoming is learned from hosts of an attacked prefix, and they are still summed") {
  Learning learning;
  learning.learn({kOne}, 10);
  const std::vector<std::uint8_t> isAttacked = {1};
  learning.sums.sums.setAttacked(isAttacked);
  learning.learn({kOne, kNext}, 10);
  CHECK(learning.seconds(kOne, 0) == 1);
  CHECK(learning.seconds(kOne, 1) == 2);
  CHECK(learning.seconds(kNext, 0) == 1);
  CHECK(learning.sum(0) == 20);
}

TEST_CASE("a full table of prefixes counts what it does not sum, and has room again in a later pass") {
  Learning learning;
  std::vector<Address> hosts;
  for (std::uint32_t i = 0; i < 17; i++) hosts.push_back(ipv4(kProtected + 256 * i));
  learning.learn(hosts, 1);
  CHECK(learning.sums.sums.count() == 16);
  CHECK(learning.sums.sums.overflow() == 1);
  const std::uint32_t before = learning.sums.sums.generation();
  learning.sums.sums.begin();
  CHECK(learning.sums.sums.generation() != before);
  learning.learn({hosts.back()}, 1);
  CHECK(learning.sums.sums.count() == 1);
}

TEST_CASE("a pass over an engine's hosts has slices, and learns each host once") {
  EngineFixture fixture({.maxHosts = 100'000});
  for (std::uint32_t i = 0; i < kHosts; i++) fixture.count(udpFrame(kForeign + 1, kProtected + i));
  fixture.tick();
  Learning learning;
  learning.learner.setGroups({learned()});
  int slices = 0;
  for (std::int64_t cursor = 0; cursor >= 0; slices++) {
    cursor = learning.learner.learnHosts(fixture.engine, cursor, nullptr);
  }
  CHECK(slices == 2);
  for (std::uint32_t i = 0; i < kHosts; i++) REQUIRE(learning.seconds(ipv4(kProtected + i)) == 1);
}

TEST_CASE("what is learned is read, saved and set while a slice runs, and folds go on" *
          doctest::test_suite("threads")) {
  EngineFixture fixture({.maxHosts = 100'000});
  for (std::uint32_t i = 0; i < kHosts; i++) fixture.count(udpFrame(kForeign + 1, kProtected + i));
  fixture.tick();
  Learning learning;
  std::atomic<bool> isOver = false;
  std::thread pass([&] {
    for (int i = 0; i < 3; i++) {
      for (std::int64_t cursor = 0; cursor >= 0;) {
        cursor = learning.learner.learnHosts(fixture.engine, cursor, &learning.sums);
      }
    }
    isOver = true;
  });
  std::uint32_t turns = 0;
  while (!isOver) {
    (void)learning.seconds(ipv4(kProtected + turns % kHosts));
    learning.learner.setSpared(std::make_shared<const SparedHosts>());
    learning.learner.setGroups({learned()});
    learning.learner.withTable([](BaselineTable& table) {
      std::vector<std::uint8_t> bytes(std::min(table.count(), 100U) * baselineBytes(2));
      copyBaselines(table, 0, 1000, bytes);
    });
    {
      const std::scoped_lock held(learning.sums.lock);
      (void)learning.sum(0);
    }
    // Few, so that no host becomes silent.
    if (turns++ % 64 == 0 && turns < 300) fixture.tick();
  }
  pass.join();
  CHECK(learning.seconds(kOne) == 3);
}
