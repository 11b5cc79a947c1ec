// What a sample of the inline counter says about what became of its packet.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "frame_maker.h"
#include "sampled_box.h"
#include "validation_box.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

/// That one sample was taken, of this frame as it came, with this verdict.
void checkSample(SampledBox& box, const Bytes& frame, std::uint32_t verdict) {
  const std::vector<inline_sample> taken = box.take();
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].verdict == verdict);
  CHECK(taken[0].wire == frame.size());
  REQUIRE(taken[0].captured == std::min<std::size_t>(frame.size(), INLINE_SAMPLE_BYTES));
  CHECK(std::equal(frame.begin(), frame.begin() + taken[0].captured, taken[0].data));
}

std::size_t countOf(const std::vector<inline_sample>& samples, filter_outcome outcome) {
  return static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), [&](const inline_sample& sample) {
    return filter_outcome_of(sample.verdict) == outcome;
  }));
}

/// A filter that drops all that goes to 10.1.0.9 and 2001:db8:1::9.
struct DroppingBox : FilterBox {
  DroppingBox() { rules.set(std::vector{ruleTo(ipv4(kProtected + 9), "4"), ruleTo(ipv6(1, 9), "6")}); }
};
const Bytes kDropped4 = udpFrame(kForeign, kProtected + 9), kPassed4 = udpFrame(kForeign, kProtected + 1);
const Bytes kDropped6 = ethernet(0x86dd) + ipv6Packet({.destination = ipv6(1, 9)}, udp(4000, 53));
const Bytes kPassed6 = ethernet(0x86dd) + ipv6Packet({.destination = ipv6(1, 1)}, udp(4000, 53, 300));

}  // namespace

TEST_CASE("sampled verdicts: a packet that is dropped or passed says so, of either family") {
  if (cannotRunXdp("sampled verdicts: dropped or passed")) return;
  const DroppingBox filter;
  SampledBox box(&filter.maps);
  for (const Bytes& frame : {kDropped4, kDropped6}) {
    CHECK(box.actionOn(frame) == XDP_DROP);
    checkSample(box, frame, FILTER_DROP_RULE);
  }
  for (const Bytes& frame : {kPassed4, kPassed6}) {
    CHECK(box.actionOn(frame) == XDP_PASS);
    checkSample(box, frame, FILTER_PASS_DEFAULT);
  }
}

TEST_CASE("sampled verdicts: of long extension headers as much is sampled as ends with the transport header") {
  if (cannotRunXdp("sampled verdicts: long extension headers")) return;
  const auto options = [](std::uint8_t next, std::uint8_t units) {
    Bytes bytes{next, units};
    bytes.resize((units + 1U) * 8);
    return bytes;
  };
  const auto frameOf = [&](const Bytes& chain) {
    return ethernet(0x86dd) + ipv6Packet({.destination = ipv6(1, 9), .nextHeader = 60}, chain + udp(123, 4444, 440));
  };
  const DroppingBox filter;
  SampledBox box(&filter.maps);
  constexpr std::size_t kChainAt = 14 + 40, kTransport = 20;
  struct Case {
    Bytes chain;
    std::size_t captured;
  };
  const Case cases[] = {{options(17, 0), INLINE_SAMPLE_BYTES},
                        {options(17, 5), INLINE_SAMPLE_BYTES},
                        {options(17, 6), kChainAt + 56 + kTransport},
                        {options(60, 30) + options(17, 30), kChainAt + 496 + kTransport},
                        {options(60, 60) + options(17, 90), kChainAt + 1216 + 448}};
  for (const auto& [chain, captured] : cases) {
    const Bytes frame = frameOf(chain);
    CHECK(box.actionOn(frame) == XDP_DROP);
    const std::vector<inline_sample> taken = box.take();
    REQUIRE(taken.size() == 1);
    CHECK(taken[0].verdict == FILTER_DROP_RULE);
    CHECK(taken[0].wire == frame.size());
    CHECK(box.frames()[0] == Bytes(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(captured)));
  }
}

TEST_CASE("sampled verdicts: a packet that is answered is sampled as it came, however it is wrapped") {
  if (cannotRunXdp("sampled verdicts: a packet that is answered")) return;
  for (const auto& [action, verdict] : {std::pair{FILTER_VALIDATE_TRANSPARENT, FILTER_ANSWER_ACK},
                                        std::pair{FILTER_VALIDATE_RESET, FILTER_ANSWER_SYN_ACK}}) {
    const ValidationBox filter(action);
    SampledBox box(&filter.maps);
    for (const Wrapping& wrapping : wrappings()) {
      CAPTURE(std::string(wrapping.name));
      const Bytes syn = wrapping.wrap(header({}));
      CHECK(box.actionOn(syn) == XDP_TX);
      checkSample(box, syn, verdict);
    }
  }
}

TEST_CASE("sampled verdicts: where nothing filters there is none") {
  if (cannotRunXdp("sampled verdicts: where nothing filters")) return;
  SampledBox box(nullptr);
  for (const Bytes& frame : {kPassed4, kPassed6}) {
    CHECK(box.actionOn(frame) == XDP_PASS);
    checkSample(box, frame, FILTER_VERDICTS);
  }
}

TEST_CASE("sampled verdicts: a flood that is dropped does not use up the turn of what passes") {
  if (cannotRunXdp("sampled verdicts: turns")) return;
  constexpr std::uint32_t kEvery = 1U << 30;
  const DroppingBox filter;
  SampledBox box(&filter.maps, kEvery);
  // The first of each outcome is sampled; after it the next one is far.
  box.actionOn(kDropped4, 100);
  CHECK(box.take().size() == 1);
  box.actionOn(kPassed4, 100);
  const std::vector<inline_sample> taken = box.take();
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].verdict == FILTER_PASS_DEFAULT);
}

TEST_CASE("sampled verdicts: of each outcome one packet in N is sampled") {
  if (cannotRunXdp("sampled verdicts: of each outcome one packet in N")) return;
  constexpr int kEvery = 10, kPackets = 2'000;
  const DroppingBox filter;
  SampledBox box(&filter.maps, kEvery);
  // Each run waits for the kernel, whatever it repeats.
  constexpr int kRuns = 40;
  for (int i = 0; i < kRuns; i++) {
    box.actionOn(kDropped4, 4 * kPackets / kRuns);
    box.actionOn(kPassed4, kPackets / kRuns);
  }
  const std::vector<inline_sample> taken = box.take();
  CHECK(countOf(taken, FILTER_DROPPED) == doctest::Approx(4.0 * kPackets / kEvery).epsilon(0.2));
  CHECK(countOf(taken, FILTER_PASSED) == doctest::Approx(1.0 * kPackets / kEvery).epsilon(0.3));
}

TEST_CASE("sampled verdicts: what is dropped leaves half of the room to what passes") {
  if (cannotRunXdp("sampled verdicts: room")) return;
  const DroppingBox filter;
  SampledBox box(&filter.maps);
  box.actionOn(kDropped4, 5'000);
  const std::uint64_t lost = box.program.stats().lost_samples;
  CHECK(lost > 0);
  box.actionOn(kPassed4, 500);
  CHECK(box.program.stats().lost_samples == lost);
  const std::vector<inline_sample> taken = box.take();
  CHECK(countOf(taken, FILTER_PASSED) == 500U);
  CHECK(countOf(taken, FILTER_DROPPED) == 5'000U - lost);
}

TEST_CASE("sampled verdicts: agree with what the filter counts, for random frames") {
  if (cannotRunXdp("sampled verdicts: agree with what the filter counts")) return;
  // Of half as many, one time in sixty none was answered.
  constexpr int kFrames = 10'000;
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  FrameMaker maker(seed);
  ValidationBox filter(FILTER_VALIDATE_TRANSPARENT);
  std::vector<WantedRule> wanted = filter.wantedRules;
  for (const Address& victim : {ipv4(kProtected + 3), ipv6(1, 3)}) {
    wanted.push_back(ruleTo(victim, "drop " + std::to_string(wanted.size())));
  }
  filter.rules.set(wanted);
  SampledBox box(&filter.maps);
  std::set<std::uint32_t> seen;
  filter_stats before = filter.maps.stats();
  for (int i = 0; i < kFrames; i++) {
    const Bytes frame = maker.make();
    CAPTURE(i);
    CAPTURE(frame);
    const std::uint64_t sampleable = box.program.stats().counted_packets;
    const std::uint32_t action = box.actionOn(frame);
    const std::vector<inline_sample> taken = box.take();
    const filter_stats after = filter.maps.stats();
    REQUIRE(taken.size() == box.program.stats().counted_packets - sampleable);
    if (!taken.empty()) {
      const std::uint32_t verdict = taken[0].verdict;
      REQUIRE(verdict < FILTER_VERDICTS);
      REQUIRE(after.verdicts[verdict].packets == before.verdicts[verdict].packets + 1);
      // What cannot be answered is dropped.
      const filter_outcome outcome = filter_outcome_of(verdict);
      if (outcome == FILTER_PASSED) REQUIRE(action == XDP_PASS);
      if (outcome == FILTER_DROPPED) REQUIRE(action == XDP_DROP);
      if (outcome == FILTER_ANSWERED) REQUIRE((action == XDP_TX || action == XDP_DROP));
      seen.insert(outcome);
    }
    before = after;
  }
  CHECK(seen.size() == 3);
}
