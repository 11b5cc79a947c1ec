// Which sources a full table keeps.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "validation_box.h"

using namespace floodwall;
using namespace floodwall::test;

TEST_CASE("validation: sources that only were seen push out none that proved themselves") {
  if (cannotRunXdp("validation: a full table")) return;
  ValidationBox box(FILTER_VALIDATE_TRANSPARENT, 64);
  std::vector<std::uint32_t> proved;
  for (std::uint32_t i = 0; i < 64; i++) {
    if (box.connects({.source = kForeign + i})) proved.push_back(kForeign + i);
  }
  REQUIRE(proved.size() == 64);
  box.changeAction(FILTER_LEARN);
  for (int turn = 0; turn < 3; turn++) {
    for (std::uint32_t i = 0; i < 2000; i++) {
      static_cast<void>(box.run(Segment{.flags = kAck, .source = 0x0b000000 + i}));
    }
    box.age(SOURCE_LEARN_UNITS);
  }
  const std::size_t left = box.known(SOURCE_VALIDATED);
  box.changeAction(FILTER_VALIDATE_TRANSPARENT);
  std::size_t passing = 0;
  for (const std::uint32_t source : proved) passing += box.actionOn({.flags = kAck, .source = source}) == XDP_PASS;
  CHECK(passing == left);
  // The keyed hash may put more of them into one set than a set keeps.
  CHECK(passing >= 60);
  // Also a full table takes in the next who proves himself.
  for (std::uint32_t i = 0; i < 500; i++) CHECK(box.connects({.source = 0x0c000000 + i}));
  CHECK(box.known(SOURCE_VALIDATED) <= box.maps.sources().size() * SOURCE_WAYS);
}

TEST_CASE("validation: sources that prove themselves leave half of a full set to those that were learned") {
  if (cannotRunXdp("validation: learned sources in a full set")) return;
  for (const std::uint32_t learned : {1U, SOURCE_LEARNED_WAYS, SOURCE_LEARNED_WAYS + 1, SOURCE_WAYS}) {
    CAPTURE(learned);
    ValidationBox box(FILTER_LEARN, 1);
    REQUIRE(box.maps.sources().size() == 1);
    for (int turn = 0; turn < 2; turn++) {
      for (std::uint32_t i = 0; i < learned; i++) {
        static_cast<void>(box.run(Segment{.flags = kAck, .source = kForeign + i}));
      }
      box.age(SOURCE_LEARN_UNITS);
    }
    REQUIRE(box.known(SOURCE_LEARNED) == learned);
    box.changeAction(FILTER_VALIDATE_RESET);
    for (std::uint32_t i = 0; i < 100; i++) CHECK(box.connects({.source = 0x0c000000 + i}));
    const std::size_t kept = std::min(learned, SOURCE_LEARNED_WAYS);
    CHECK(box.known(SOURCE_LEARNED) == kept);
    CHECK(box.known(SOURCE_VALIDATED) == SOURCE_WAYS - kept);
    std::size_t passing = 0;
    for (std::uint32_t i = 0; i < learned; i++) {
      if (box.actionOn({.flags = kAck, .source = kForeign + i}) == XDP_PASS) passing++;
    }
    CHECK(passing == kept);
  }
}

TEST_CASE("validation: who proved an address by reset takes the place of none whose proof is better") {
  if (cannotRunXdp("validation: proofs by reset in a full table")) return;
  ValidationBox box(FILTER_VALIDATE_RESET, 1);
  for (std::uint32_t i = 0; i < SOURCE_WAYS; i++) REQUIRE(box.connects({.source = kForeign + i}));
  box.changeAction(FILTER_VALIDATE_TRANSPARENT);
  for (std::uint32_t i = 0; i < 100; i++) static_cast<void>(box.connects({.source = 0x0c000000 + i}));
  box.changeAction(FILTER_VALIDATE_RESET);
  for (std::uint32_t i = 0; i < SOURCE_WAYS; i++) {
    CHECK(box.actionOn({.flags = kAck, .source = kForeign + i}) == XDP_PASS);
  }
  // Of those that proved it by reset, a better proof takes the place.
  box.forget();
  box.changeAction(FILTER_VALIDATE_TRANSPARENT);
  for (std::uint32_t i = 0; i < SOURCE_WAYS; i++) REQUIRE(box.connects({.source = 0x0c000000 + i}));
  box.changeAction(FILTER_VALIDATE_RESET);
  CHECK(box.connects({}));
  CHECK(box.actionOn({.flags = kSyn}) == XDP_PASS);
}

TEST_CASE("validation: who goes on sending outlives those who proved themselves and stopped") {
  if (cannotRunXdp("validation: the oldest is replaced")) return;
  const ValidationBox box(FILTER_VALIDATE_RESET, 1);
  const Segment segment{.flags = kAck};
  REQUIRE(box.connects({}));
  for (std::uint32_t unit = 0; unit < 10; unit++) {
    box.age(1);
    CHECK(box.actionOn(segment) == XDP_PASS);
    for (std::uint32_t i = 0; i < SOURCE_WAYS - 1; i++) {
      CHECK(box.connects({.source = 0x0c000000 + unit * SOURCE_WAYS + i}));
    }
  }
  CHECK(box.actionOn(segment) == XDP_PASS);
  CHECK(box.known(SOURCE_VALIDATED) == SOURCE_WAYS);
}
