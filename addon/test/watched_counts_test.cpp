// What is counted of watched hosts fold by fold, and what is known of them from before they were watched.
#include <doctest/doctest.h>

#include "engine_fixture.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

const Address kHost = ipv4(kProtected + 1);
const Bytes kFrame = udpFrame(kForeign + 1, kProtected + 1);
const Bytes kOther = udpFrame(kForeign + 1, kProtected + 2);

struct Counted {
  double ageMs, spanMs, packets;
  bool isBefore = false;
  double weight = 0;
  bool operator==(const Counted&) const = default;
};

struct CountsFixture : EngineFixture {
  using EngineFixture::EngineFixture;

  void watch(const std::vector<Address>& hosts) {
    std::vector<std::uint8_t> bytes;
    for (const Address& host : hosts) bytes.insert(bytes.end(), host.bytes.begin(), host.bytes.end());
    engine.setWatched(bytes);
  }
  std::vector<Counted> counts(std::size_t capacity = 100) {
    std::vector<std::uint8_t> addresses(capacity * 16), before(capacity);
    std::vector<double> ages(capacity), spans(capacity), incoming(capacity * kMetrics), outgoing(capacity * kMetrics);
    std::vector<double> weights(capacity * kWeights);
    std::vector<Counted> rows;
    for (std::uint32_t first = 0, all = 1; first < all; first += static_cast<std::uint32_t>(capacity)) {
      all = engine.readCounts(first, {addresses, ages, spans, before, incoming, outgoing, weights});
      for (std::size_t i = 0; i < std::min<std::size_t>(all - first, capacity); i++) {
        rows.push_back({ages[i], spans[i], incoming[i * kMetrics], before[i] == 1, weights[i * kWeights]});
      }
    }
    return rows;
  }
};

}  // namespace

TEST_CASE("of a newly watched host, what each fold of the window had, then what this one found") {
  CountsFixture fixture;
  fixture.tick(20);
  for (const std::uint64_t packets : {3U, 0U, 7U}) {
    fixture.count(kFrame, packets);
    fixture.count(kOther, 100);
    fixture.tick();
  }
  fixture.watch({kHost});
  CHECK(fixture.counts().empty());
  fixture.count(kFrame, 5);
  fixture.tick();
  // Read in pieces, too.
  for (const std::size_t capacity : {100U, 3U}) {
    const std::vector<Counted> rows = fixture.counts(capacity);
    REQUIRE(rows.size() == 11);
    CHECK(rows[0] == Counted{1000, 100, 0});
    CHECK(rows[7] == Counted{300, 100, 3});
    CHECK(rows[8] == Counted{200, 100, 0});
    CHECK(rows[9] == Counted{100, 100, 7});
    CHECK(rows[10] == Counted{0, 100, 5});
  }
}

TEST_CASE("of a busy host, the windows before as well, each once and none that reaches into the folds") {
  CountsFixture fixture;
  std::vector<double> screens(4 * kMetrics, std::numeric_limits<double>::infinity());
  screens[0] = 3200;
  fixture.engine.setScreens(screens);
  // 120 packets/s, above a 32nd of the screen, for more windows than are kept.
  for (unsigned tick = 0; tick < 200; tick++) {
    fixture.count(kFrame, 12);
    fixture.tick();
  }
  fixture.watch({kHost});
  fixture.tick();
  const std::vector<Counted> rows = fixture.counts();
  std::vector<Counted> earlier;
  for (const Counted& row : rows) {
    if (row.isBefore) earlier.push_back(row);
  }
  REQUIRE(earlier.size() >= 6);
  REQUIRE(earlier.size() <= 8);
  for (std::size_t i = 0; i < earlier.size(); i++) {
    CHECK(earlier[i].packets == 120);
    CHECK(earlier[i].spanMs == 1000);
    CHECK(earlier[i].ageMs >= 1100);
    if (i != 0) CHECK(earlier[i].ageMs == earlier[i - 1].ageMs - 1000);
    CHECK(rows[i] == earlier[i]);
  }
  CHECK(rows.size() == earlier.size() + 11);
}

TEST_CASE("of a host that is not busy, only its folds") {
  CountsFixture fixture;
  std::vector<double> screens(4 * kMetrics, std::numeric_limits<double>::infinity());
  screens[0] = 3200;
  fixture.engine.setScreens(screens);
  for (unsigned tick = 0; tick < 30; tick++) {
    fixture.count(kFrame, 9);
    fixture.tick();
  }
  fixture.watch({kHost});
  fixture.tick();
  CHECK(fixture.counts().size() == 11);
}

TEST_CASE("then only what each fold found, over the time that it covers") {
  CountsFixture fixture;
  fixture.count(kFrame, 1);
  fixture.tick();
  fixture.watch({kHost});
  fixture.tick();
  fixture.count(kFrame, 4);
  fixture.tick();
  CHECK(fixture.counts() == std::vector<Counted>{{0, 100, 4}});
  fixture.nowNs += 150 * CountsFixture::kMs;
  fixture.tick();
  CHECK(fixture.counts() == std::vector<Counted>{{0, 250, 0}});
  fixture.watch({});
  fixture.count(kFrame, 1);
  fixture.tick();
  CHECK(fixture.counts().empty());
}

TEST_CASE("a watched host that comes into the table later is counted from its first packet") {
  CountsFixture fixture;
  fixture.watch({kHost});
  fixture.tick();
  fixture.count(kFrame, 2);
  fixture.tick();
  CHECK(fixture.counts() == std::vector<Counted>{{0, 100, 2}});
}

TEST_CASE("buckets of several ticks are counted whole") {
  // 30 ticks are 15 buckets of two.
  CountsFixture fixture({.windowMs = 3000});
  fixture.tick(60);
  fixture.count(kFrame, 8);
  fixture.tick(4);
  fixture.watch({kHost});
  fixture.tick();
  double before = 0;
  for (const Counted& row : fixture.counts()) before += row.packets;
  CHECK(before == 8);
}

TEST_CASE("counts of sampled packets come with their own weight, those of the past with that of the window") {
  CountsFixture fixture;
  fixture.shard->setSamplingRate(10);
  fixture.count(kFrame, 3);
  fixture.tick();
  fixture.watch({kHost});
  fixture.count(kFrame, 5);
  fixture.tick();
  std::vector<Counted> rows = fixture.counts();
  REQUIRE(rows.size() >= 2);
  CHECK(rows.back() == Counted{0, 100, 50, false, 9});
  CHECK(rows[rows.size() - 2].packets == 30);
  CHECK(rows[rows.size() - 2].weight == doctest::Approx(9));
  fixture.tick();
  CHECK(fixture.counts().back() == Counted{0, 100, 0, false, 0});
}
