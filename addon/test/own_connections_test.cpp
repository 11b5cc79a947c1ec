// Connections that a scrubbed victim opens itself, where both directions are seen.
#include <doctest/doctest.h>

#include "validation_box.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint32_t kServer = kForeign + 9;

/// The first victim's own connections are learned, what answers them passes, and all else to it is dropped.
struct OwnBox : ValidationBox {
  explicit OwnBox(filter_action action) : ValidationBox(action) {
    WantedRule learn{.id = "learn"};
    learn.rule.expires_at_ns = inAnHour();
    learn.rule.asks = FILTER_ASKS_SOURCE | FILTER_ASKS_PROTOCOL | FILTER_ASKS_FLAGS;
    learn.rule.source = inKernel(ipv4(kProtected + 1));
    learn.rule.source_mask = {.halves = {~0ULL, ~0ULL}};
    learn.rule.is_source_ipv4 = 1;
    learn.rule.protocol = 6;
    learn.rule.flags_set = kSyn;
    learn.rule.flags_unset = kAck;
    learn.rule.action = FILTER_LEARN_QUESTION;
    WantedRule pass = ruleTo(ipv4(kProtected + 1), "pass");
    pass.rule.asks |= FILTER_ASKS_PROTOCOL;
    pass.rule.protocol = 6;
    pass.rule.action = FILTER_PASS_ASKED;
    wantedRules.push_back(learn);
    wantedRules.push_back(pass);
    wantedRules.push_back(ruleTo(ipv4(kProtected + 1), "all else"));
    rules.set(wantedRules);
  }

  [[nodiscard]] bool passes(std::uint8_t flags, std::uint32_t server = kServer) const {
    return actionOn({.flags = flags, .source = server}) == XDP_PASS;
  }
  void open(std::uint32_t server = kServer) const {
    REQUIRE(actionOn({.flags = kSyn, .source = kProtected + 1, .victim = server}) == XDP_PASS);
  }
};

}  // namespace

TEST_CASE("validation: whom the victim opens a connection to answers it, and nobody else") {
  if (cannotRunXdp("validation: own connections")) return;
  for (const filter_action way : {FILTER_VALIDATE_RESET, FILTER_VALIDATE_TRANSPARENT}) {
    const OwnBox box(way);
    CHECK_FALSE(box.passes(kSyn | kAck));
    box.open();
    CHECK(box.passes(kSyn | kAck));
    CHECK(box.passes(kAck));
    CHECK(box.passes(kFin | kAck));
    CHECK(box.passes(kRst | kAck));
    // A connection of the server's own is asked to prove itself as any.
    CHECK(box.actionOn({.flags = kSyn, .source = kServer}) == XDP_TX);
    CHECK_FALSE(box.passes(kSyn | kAck, kServer + 1));
    CHECK_FALSE(box.passes(kAck, kServer + 1));
    CHECK_FALSE(box.passes(kSyn | kFin));
    // To another victim.
    CHECK(box.actionOn({.flags = kSyn | kAck, .source = kServer, .victim = kProtected + 2}) == XDP_DROP);
  }
}

TEST_CASE("validation: what the victim answers makes nobody known") {
  if (cannotRunXdp("validation: answers of the victim")) return;
  const OwnBox box(FILTER_VALIDATE_RESET);
  for (const int flags : {kSyn | kAck, int{kAck}, kRst | kAck}) {
    const Segment answer{.flags = static_cast<std::uint8_t>(flags), .source = kProtected + 1, .victim = kServer};
    CHECK(box.actionOn(answer) == XDP_PASS);
  }
  CHECK_FALSE(box.passes(kAck));
  CHECK_FALSE(box.passes(kSyn | kAck));
}

TEST_CASE("validation: who goes on answering stays known, and who is silent does not") {
  if (cannotRunXdp("validation: long connections")) return;
  const OwnBox box(FILTER_VALIDATE_RESET);
  const auto wait = [&](std::uint64_t units) {
    for (source_set& set : box.maps.sources()) {
      for (__u64& entry : set.sources) {
        if (entry != 0) entry -= units << SOURCE_TIME_AT;
      }
    }
  };
  box.open();
  for (int i = 0; i < 10; i++) {
    wait(10);
    CHECK(box.passes(kAck));
  }
  wait(20);
  // It is learned still, and all that is no service is dropped.
  CHECK_FALSE(box.passes(kAck));
}
