#include <doctest/doctest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "filter/prefix_sets.h"
#include "filter_box.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint8_t kTcp = 6, kUdp = 17;

struct Shape {
  const char* name;
  Bytes frame;
  bool isIpv6 = false;
  bool showsPorts = true;
};

/// UDP from port 4000 to port 53 of the first protected host, in every wrapping.
std::vector<Shape> shapes() {
  const Bytes packet = ipv4Packet({}, udp(4000, 53)), packet6 = ipv6Packet({}, udp(4000, 53));
  const auto extension = [](std::uint8_t next) { return Bytes{next, 0, 0, 0, 0, 0, 0, 0}; };
  const Bytes later6{kUdp, 0, 5, 0xa0, 0, 0, 0, 1}, first6{kUdp, 0, 0, 1, 0, 0, 0, 1};
  return {
      {"IPv4", ethernet(0x0800) + packet},
      {"IPv4 in a VLAN", ethernet(0x8100) + vlanTag(0x0800) + packet},
      {"IPv4 in QinQ", ethernet(0x88a8) + vlanTag(0x8100) + vlanTag(0x0800) + packet},
      {"IPv4 with options", ethernet(0x0800) + ipv4Packet({.options = 10}, udp(4000, 53))},
      {"a first fragment", ethernet(0x0800) + ipv4Packet({.fragment = 0x2000}, udp(4000, 53))},
      {"a later fragment", ethernet(0x0800) + ipv4Packet({.fragment = 185}, Bytes(64)), false, false},
      {"IPv6", ethernet(0x86dd) + packet6, true},
      {"IPv6 in a VLAN", ethernet(0x8100) + vlanTag(0x86dd) + packet6, true},
      {"IPv6 in QinQ", ethernet(0x88a8) + vlanTag(0x8100) + vlanTag(0x86dd) + packet6, true},
      {"IPv6 with extension headers",
       ethernet(0x86dd) +
           ipv6Packet({.nextHeader = 0}, extension(60) + extension(43) + extension(kUdp) + udp(4000, 53)),
       true},
      {"a first fragment of IPv6", ethernet(0x86dd) + ipv6Packet({.nextHeader = 44}, first6 + udp(4000, 53)), true},
      {"a later fragment of IPv6", ethernet(0x86dd) + ipv6Packet({.nextHeader = 44}, later6), true, false},
  };
}

Address victimOf(const Shape& shape) { return shape.isIpv6 ? ipv6(1, 1) : ipv4(kProtected + 1); }
Address sourceOf(const Shape& shape) { return shape.isIpv6 ? ipv6(9, 1) : ipv4(kForeign + 1); }

void stayOnCpu(std::size_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu % std::thread::hardware_concurrency(), &set);
  sched_setaffinity(0, sizeof set, &set);
}

filter_count hitsOfOnlyPair(const FilterBox& box) {
  filter_count hits{};
  std::size_t rows = 0;
  const auto next = box.pairs.read(0, 2, bootNs(), [&](const PairKey&, std::uint64_t, const filter_count& found) {
    hits = found;
    rows++;
  });
  REQUIRE(next == -1);
  REQUIRE(rows == 1);
  return hits;
}

}  // namespace

TEST_CASE("xdp filter: a pair, a destination and a port are found in every shape of packet, one verdict each") {
  if (cannotRunXdp("xdp filter: every shape of packet")) return;
  FilterBox box;
  for (const Shape& shape : shapes()) {
    CAPTURE(shape.name);
    box.forget();
    box.rules.set({});
    CHECK_FALSE(box.drops(shape.frame));
    CHECK(box.verdict(FILTER_PASS_DEFAULT).packets == 1);
    WantedRule rule = ruleTo(victimOf(shape), "rule");
    box.rules.set(std::vector{rule});
    CHECK(box.drops(shape.frame));
    rule.rule.source_ports = 1;
    rule.rule.ports[0] = {.from = 4000, .to = 4000};
    box.rules.set(std::vector{rule});
    CHECK(box.drops(shape.frame) == shape.showsPorts);
    CHECK(box.verdict(FILTER_DROP_RULE).packets == (shape.showsPorts ? 2 : 1));
    const std::vector pair{pairOf(sourceOf(shape), victimOf(shape))};
    box.pairs.put(pair, std::vector{inAnHour()});
    CHECK(box.drops(shape.frame));
    box.pairs.remove(pair);
    CHECK(box.verdict(FILTER_DROP_SOURCE).packets == 1);
    CHECK(box.verdict(FILTER_DROP_SOURCE).bytes == shape.frame.size());
    CHECK(box.verdicts() == 4);
  }
}

TEST_CASE("xdp filter: a pair that several CPUs meet at once is counted to the packet, and from none when put again") {
  if (cannotRunXdp("xdp filter: a pair that several CPUs meet at once")) return;
  FilterBox box;
  const std::vector<PairKey> keys = {pairOf(ipv4(kForeign), ipv4(kProtected + 1))};
  const std::vector<std::uint64_t> expiries = {inAnHour()};
  box.pairs.put(keys, expiries);
  const Bytes frame = udpFrame(kForeign, kProtected + 1);
  constexpr int kRuns = 20, kRepeat = 10'000;
  const std::size_t senders = std::max(2U, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t cpu = 0; cpu < senders; cpu++) {
    threads.emplace_back([&box, &frame, cpu] {
      stayOnCpu(cpu);
      for (int run = 0; run < kRuns; run++) static_cast<void>(box.drops(frame, kRepeat));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const filter_count expected = {.packets = senders * kRuns * kRepeat,
                                 .bytes = senders * kRuns * kRepeat * frame.size()};
  CHECK(box.verdict(FILTER_DROP_SOURCE).packets == expected.packets);
  CHECK(hitsOfOnlyPair(box).packets == expected.packets);
  CHECK(hitsOfOnlyPair(box).bytes == expected.bytes);
  // Whatever row it gets, one that counted before or one that did not.
  for (std::size_t turn = 0; turn <= box.maps.pairs().size(); turn++) {
    box.pairs.remove(keys);
    box.pairs.put(keys, expiries);
    REQUIRE(hitsOfOnlyPair(box).packets == 0);
  }
}

TEST_CASE("xdp filter: packets of any length are counted to the byte") {
  if (cannotRunXdp("xdp filter: packets of any length are counted to the byte")) return;
  FilterBox box;
  box.pairs.put(std::vector{pairOf(ipv4(kForeign), ipv4(kProtected + 1))}, std::vector{inAnHour()});
  stayOnCpu(0);
  filter_count expected{};
  for (const std::size_t bytes : {60U, 1514U, 3000U, 61U, 1500U}) {
    Bytes frame = udpFrame(kForeign, kProtected + 1);
    frame.resize(bytes);
    // More than a CPU holds, by packets where they are short and by bytes where they are long.
    constexpr int kRepeat = 3 * FILTER_HELD_PACKETS_MAX + 1;
    REQUIRE(box.drops(frame, kRepeat));
    expected.packets += kRepeat;
    expected.bytes += kRepeat * bytes;
    CHECK(hitsOfOnlyPair(box).packets == expected.packets);
    CHECK(hitsOfOnlyPair(box).bytes == expected.bytes);
  }
}

TEST_CASE("xdp filter: a pair expires within the unit of its coarse expiry") {
  if (cannotRunXdp("xdp filter: a pair expires within the unit")) return;
  FilterBox box;
  constexpr std::uint64_t kUnit = 1ULL << FILTER_COARSE_SHIFT;
  const std::vector<PairKey> keys = {pairOf(ipv4(kForeign), ipv4(kProtected + 1))};
  const auto dropsWith = [&](std::uint64_t expiresAtNs) {
    box.pairs.put(keys, std::vector{expiresAtNs});
    return box.drops(udpFrame(kForeign, kProtected + 1));
  };
  bool isSame = false;
  // Again where the next unit began meanwhile.
  while (!isSame) {
    const std::uint64_t unit = bootNs() / kUnit;
    const bool before = dropsWith(unit * kUnit + 1), after = dropsWith((unit + 1) * kUnit - 1);
    const bool next = dropsWith((unit + 1) * kUnit + kUnit / 2);
    isSame = bootNs() / kUnit == unit;
    if (!isSame) continue;
    CHECK_FALSE(before);
    CHECK(after);
    CHECK(next);
  }
}

TEST_CASE("xdp filter: one limit for all CPUs together") {
  if (cannotRunXdp("xdp filter: one limit for all CPUs together")) return;
  FilterBox box;
  // So little that an emulated machine on a busy one sends far more.
  constexpr double kBytesPerSecond = 2e4;
  WantedRule rule = ruleTo(ipv4(kProtected + 1), "limit");
  rule.rule.action = FILTER_LIMIT;
  rule.rule.byte_cost = static_cast<std::uint64_t>(1e9 * 65536 / kBytesPerSecond);
  box.rules.set(std::vector{rule});
  const Bytes frame = udpFrame(kForeign, kProtected + 1);
  static_cast<void>(box.drops(udpFrame(kForeign, kProtected + 2)));
  // Pauses of one sender that leave some of the rate unused, if all pause.
  std::atomic<double> unused = 0;
  const auto start = Clock::now();
  const auto send = [&](std::size_t cpu) {
    stayOnCpu(cpu);
    for (auto last = start; last - start < std::chrono::seconds(1);) {
      static_cast<void>(box.drops(frame, 1000));
      const auto now = Clock::now();
      const double pause = std::chrono::duration<double>(now - last).count() - 0.05;
      if (cpu == 0 && pause > 0) unused = unused + pause;
      last = now;
    }
  };
  std::thread other(send, 1);
  std::thread(send, 0).join();
  other.join();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const auto passed = static_cast<double>(box.verdict(FILTER_PASS_RATE_LIMIT).bytes);
  const double burst = kBytesPerSecond * FILTER_BURST_NS / 1e9;
  CHECK(box.verdict(FILTER_DROP_RATE_LIMIT).packets > box.verdict(FILTER_PASS_RATE_LIMIT).packets);
  CHECK(passed <= (kBytesPerSecond * seconds + burst) * 1.01);
  CHECK(passed >= kBytesPerSecond * (seconds - unused - 0.1) * 0.99);
}

TEST_CASE("xdp filter: a list is replaced while the program runs, and never half there") {
  if (cannotRunXdp("xdp filter: a list is replaced while the program runs")) return;
  FilterBox box;
  const Bytes frame = udpFrame(kForeign, kProtected + 1);
  box.rules.set(std::vector{ruleTo(ipv4(kProtected + 1), "rule")});
  std::atomic<bool> isOver = false;
  std::thread writer([&] {
    for (int round = 0; round < 300; round++) {
      std::vector<WantedRule> wanted{ruleTo(ipv4(kProtected + 1), "rule")};
      for (int i = 0; i < 60; i++) {
        wanted.push_back(ruleTo(ipv4(kProtected + 2 + static_cast<std::uint32_t>(i)),
                                std::to_string(round) + "-" + std::to_string(i)));
      }
      box.rules.set(wanted);
    }
    isOver = true;
  });
  std::uint64_t passed = 0;
  while (!isOver) passed += box.drops(frame) ? 0U : 1U;
  writer.join();
  CHECK(passed == 0);
}
