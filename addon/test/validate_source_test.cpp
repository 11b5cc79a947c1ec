#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "validation_box.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

/// Whether an answer's headers are whole and right, and it goes back where the frame came from.
void checkAnswer(const Bytes& answer, const Bytes& asked, std::size_t network, bool isIpv6) {
  const std::size_t transport = network + (isIpv6 ? 40 : 20), at = network + (isIpv6 ? 8 : 12), bytes = isIpv6 ? 16 : 4;
  REQUIRE(answer.size() == transport + 20);
  CHECK(std::equal(answer.begin(), answer.begin() + 6, asked.begin() + 6));
  CHECK(std::equal(answer.begin() + 6, answer.begin() + 12, asked.begin()));
  CHECK(std::equal(answer.begin() + 12, answer.begin() + static_cast<long>(network), asked.begin() + 12));
  const auto part = [](const Bytes& of, std::size_t from, std::size_t count) {
    return Bytes(of.begin() + static_cast<long>(from), of.begin() + static_cast<long>(from + count));
  };
  CHECK(part(answer, at, bytes) == part(asked, at + bytes, bytes));
  CHECK(part(answer, at + bytes, bytes) == part(asked, at, bytes));
  CHECK(at32(answer, transport) == (443U << 16 | 40'000U));
  std::uint32_t pseudo = 6 + 20;
  for (std::size_t i = 0; i < 2 * bytes; i += 2) pseudo += std::uint32_t{answer[at + i]} << 8 | answer[at + i + 1];
  CHECK(checksumOf(answer, transport, 20, pseudo) == 0);
  if (isIpv6) {
    CHECK(at32(answer, network + 4) == (20U << 16 | 6U << 8 | 64U));
  } else {
    CHECK(checksumOf(answer, network, 20) == 0);
    CHECK(at32(answer, network) == 0x45000028);
  }
}

}  // namespace

TEST_CASE("siphash: the vector of the paper's appendix") {
  const std::uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  siphash_state state = siphash_begin(reinterpret_cast<const __u64*>(key));
  siphash_add(&state, 0x0706050403020100);
  siphash_add(&state, 0x0f0e0d0c0b0a0908);
  CHECK(siphash_end(&state) == 0xa129ca6149be45e5);
}

TEST_CASE("validation: an unknown source's SYN is answered in every wrapping, and its answer proves it") {
  if (cannotRunXdp("validation: every wrapping")) return;
  for (const filter_action action : {FILTER_VALIDATE_RESET, FILTER_VALIDATE_TRANSPARENT}) {
    const bool isTransparent = action == FILTER_VALIDATE_TRANSPARENT;
    const ValidationBox box(action);
    for (const Wrapping& wrapping : wrappings()) {
      CAPTURE(wrapping.name);
      CAPTURE(isTransparent);
      box.forget();
      const Bytes options = {2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7};
      Segment segment{.flags = kSyn | kEce | kCwr, .rest = options + Bytes(300, 'x')};
      const Bytes syn = wrapping.wrap(header(segment));
      const Outcome answered = box.run(syn);
      REQUIRE(answered.action == XDP_TX);
      checkAnswer(answered.frame, syn, wrapping.network, wrapping.isIpv6);
      const std::size_t transport = wrapping.network + (wrapping.isIpv6 ? 40 : 20);
      CHECK(answered.frame[transport + 13] == (isTransparent ? kAck : kSyn | kAck));
      const std::uint32_t cookie = at32(answered.frame, transport + (isTransparent ? 8 : 4));
      if (!isTransparent) CHECK(at32(answered.frame, transport + 8) == kIsn + 1);

      segment = isTransparent ? Segment{.flags = kRst, .sequence = cookie}
                              : Segment{.flags = kAck, .sequence = kIsn + 1, .acknowledgement = cookie + 1};
      const Bytes proof = wrapping.wrap(header(segment));
      const Outcome proved = box.run(proof);
      CHECK(proved.action == (isTransparent ? XDP_DROP : XDP_TX));
      if (!isTransparent) {
        checkAnswer(proved.frame, proof, wrapping.network, wrapping.isIpv6);
        CHECK(proved.frame[transport + 13] == kRst);
        CHECK(at32(proved.frame, transport + 4) == cookie + 1);
      }
      CHECK(box.known(SOURCE_VALIDATED) == 1);
      const Outcome passed = box.run(syn);
      CHECK(passed.action == XDP_PASS);
      CHECK(passed.frame == syn);
      CHECK(box.verdicts() == 3);
    }
    const std::uint64_t times = wrappings().size();
    std::uint64_t answered = 0, validated = 0;
    for (const RuleHits& hits : box.rules.read(bootNs())) {
      answered += hits.answered.packets;
      validated += hits.validated;
    }
    CHECK(answered == (isTransparent ? times : 2 * times));
    CHECK(validated == times);
  }
}

TEST_CASE("validation: a source is known for one victim, an IPv6 source with its /64") {
  if (cannotRunXdp("validation: one victim")) return;
  const ValidationBox box(FILTER_VALIDATE_RESET);
  REQUIRE(box.connects({}));
  CHECK(box.actionOn({.port = 40'001}) == XDP_PASS);
  CHECK(box.actionOn({.flags = kAck}) == XDP_PASS);
  CHECK(box.actionOn({.victim = kProtected + 2}) == XDP_TX);
  CHECK(box.actionOn({.source = kForeign + 2}) == XDP_TX);
  const auto syn6 = [&](const Address& source) {
    return ethernet(0x86dd) + ipv6Packet({.source = source, .nextHeader = 6}, header({}));
  };
  const Outcome answered = box.run(syn6(ipv6(9, 1)));
  REQUIRE(answered.action == XDP_TX);
  const Segment proof{.flags = kAck, .acknowledgement = at32(answered.frame, 14 + 40 + 4) + 1};
  REQUIRE(box.run(ethernet(0x86dd) + ipv6Packet({.source = ipv6(9, 1), .nextHeader = 6}, header(proof))).action ==
          XDP_TX);
  CHECK(box.run(syn6(ipv6(9, 77))).action == XDP_PASS);
  CHECK(box.run(syn6(ipv6(10, 1))).action == XDP_TX);
}

TEST_CASE("validation: a cookie proves its own addresses, ports, way and time only") {
  if (cannotRunXdp("validation: cookies")) return;
  for (const bool isTransparent : {false, true}) {
    CAPTURE(isTransparent);
    const auto proof = [&](Segment to, std::uint32_t cookie) {
      to.flags = isTransparent ? kRst : kAck;
      (isTransparent ? to.sequence : to.acknowledgement) = isTransparent ? cookie : cookie + 1;
      return to;
    };
    const filter_action action = isTransparent ? FILTER_VALIDATE_TRANSPARENT : FILTER_VALIDATE_RESET;
    const ValidationBox box(action);
    const Segment client;
    const auto refuses = [&](const Segment& segment) {
      const Outcome outcome = box.run(segment);
      return outcome.action == XDP_DROP && box.known(SOURCE_VALIDATED) == 0;
    };
    const std::uint32_t own = box.cookie(client, isTransparent);
    CHECK(refuses(proof(client, own ^ 4)));
    CHECK(refuses(proof(client, own ^ COOKIE_KEY)));
    CHECK(refuses(proof(client, own ^ COOKIE_ODD_PERIOD)));
    CHECK(refuses(proof({.port = 40'001}, own)));
    CHECK(refuses(proof({.source = kForeign + 2}, own)));
    CHECK(refuses(proof({.victim = kProtected + 2}, own)));
    CHECK(refuses(proof(client, box.cookie(client, !isTransparent))));
    CHECK(refuses(proof(client, box.cookie(client, isTransparent, 2))));
    CHECK(refuses(proof(client, box.cookie(client, isTransparent, 3))));
    CHECK(refuses({.flags = isTransparent ? kAck : kRst, .sequence = own, .acknowledgement = own + 1}));
    CHECK(refuses({.flags = kSyn | kAck, .sequence = own, .acknowledgement = own + 1}));
    // In its own period, and in the next.
    for (const unsigned age : {0U, 1U}) {
      box.forget();
      CHECK(box.run(proof(client, box.cookie(client, isTransparent, age))).action ==
            (isTransparent ? XDP_DROP : XDP_TX));
      CHECK(box.known(SOURCE_VALIDATED) == 1);
    }
    // A key that was replaced is good until the next is.
    box.forget();
    const std::uint32_t before = box.cookie(client, isTransparent);
    rotateCookieKey(box.maps);
    CHECK(box.run(proof(client, before)).action == (isTransparent ? XDP_DROP : XDP_TX));
    CHECK(box.known(SOURCE_VALIDATED) == 1);
    const Outcome answered = box.run(Segment{.source = kForeign + 2});
    CHECK(at32(answered.frame, 34 + (isTransparent ? 8 : 4)) ==
          box.cookie({.source = kForeign + 2}, isTransparent, 0, 1));
    rotateCookieKey(box.maps);
    CHECK(box.run(proof({.source = kForeign + 3}, before)).action == XDP_DROP);
    CHECK(box.known(SOURCE_VALIDATED) == 1);
  }
}

TEST_CASE("validation: what no connection begins with is dropped, and only what the rule asks for is judged") {
  if (cannotRunXdp("validation: other segments")) return;
  const ValidationBox box(FILTER_VALIDATE_RESET);
  for (const unsigned flags : {0U, 0U + kFin, 0U + kRst, 0U + kAck, 0U + kSyn + kAck, 0U + kSyn + kFin,
                               0U + kSyn + kRst, 0U + kFin + kAck, 0U + kRst + kAck, 255U}) {
    CAPTURE(flags);
    CHECK(box.actionOn({.flags = static_cast<std::uint8_t>(flags)}) == XDP_DROP);
  }
  CHECK(box.run(ethernet(0x0800) + ipv4Packet({.protocol = 6, .fragment = 185}, Bytes(64))).action == XDP_DROP);
  CHECK(box.run(ethernet(0x0800) + ipv4Packet({.protocol = 6}, Bytes(8))).action == XDP_DROP);
  CHECK(box.run(udpFrame(kForeign, kProtected + 1)).action == XDP_PASS);
  CHECK(box.actionOn({.victim = kProtected + 3}) == XDP_PASS);
  CHECK(box.verdict(FILTER_DROP_UNVALIDATED).packets == 12);
}

TEST_CASE("validation: a SYN whose frame ends within its TCP header is dropped") {
  if (cannotRunXdp("validation: a short SYN")) return;
  const ValidationBox box(FILTER_VALIDATE_RESET);
  Bytes syn = ethernet(0x0800) + ipv4Packet({.protocol = 6, .totalLength = 40}, header({}));
  syn.resize(14 + 20 + 14);
  CHECK(box.run(syn).action == XDP_DROP);
}

TEST_CASE("validation: connections that were there before are learned, and no flood is before it is noticed") {
  if (cannotRunXdp("validation: learning")) return;
  ValidationBox box(FILTER_LEARN);
  const Segment segment{.flags = kAck};
  CHECK(box.actionOn(segment) == XDP_PASS);
  CHECK(box.actionOn({.flags = kSyn, .source = kForeign + 2}) == XDP_PASS);
  CHECK(box.actionOn({.flags = kRst, .source = kForeign + 3}) == XDP_PASS);
  CHECK(box.actionOn(segment) == XDP_PASS);
  CHECK(box.known(SOURCE_SEEN) == 1);
  box.changeAction(FILTER_VALIDATE_RESET);
  CHECK(box.actionOn(segment) == XDP_DROP);
  box.changeAction(FILTER_LEARN);
  box.age(SOURCE_LEARN_UNITS);
  CHECK(box.actionOn(segment) == XDP_PASS);
  CHECK(box.known(SOURCE_LEARNED) == 1);
  box.changeAction(FILTER_VALIDATE_RESET);
  CHECK(box.actionOn(segment) == XDP_PASS);
  CHECK(box.actionOn({.flags = kFin | kAck, .port = 50'000}) == XDP_PASS);
  CHECK(box.actionOn({.flags = kSyn | kAck}) == XDP_DROP);
  // It opens new connections as anybody does.
  CHECK(box.actionOn({}) == XDP_TX);
  CHECK(box.connects({}));
  CHECK(box.known(SOURCE_LEARNED) == 0);
  CHECK(box.known(SOURCE_VALIDATED) == 1);
}

TEST_CASE("validation: seen once and not again for a while is seen as new") {
  if (cannotRunXdp("validation: seen as new")) return;
  const ValidationBox box(FILTER_LEARN);
  const Segment segment{.flags = kAck};
  static_cast<void>(box.run(segment));
  box.age(SOURCE_SEEN_UNITS + 1);
  static_cast<void>(box.run(segment));
  CHECK(box.known(SOURCE_SEEN) == 1);
  box.age(SOURCE_LEARN_UNITS);
  static_cast<void>(box.run(segment));
  CHECK(box.known(SOURCE_LEARNED) == 1);
}

TEST_CASE("validation: learned sources together keep to the rule's rate, validated ones do not count to it") {
  if (cannotRunXdp("validation: the rate of learned sources")) return;
  ValidationBox box(FILTER_LEARN);
  const Segment learned{.flags = kAck}, validated{.flags = kSyn, .source = kForeign + 2};
  static_cast<void>(box.run(learned));
  box.age(SOURCE_LEARN_UNITS);
  static_cast<void>(box.run(learned));
  box.change([](filter_rule& rule) {
    rule.action = FILTER_VALIDATE_RESET;
    // A packet of 54 bytes costs the burst of minutes: the machine may stand still between two packets.
    rule.byte_cost = (std::uint64_t{FILTER_BURST_NS} << 16) / 54 * 2000;
  });
  REQUIRE(box.connects(validated));
  int passed = 0;
  for (int i = 0; i < 10; i++) passed += box.actionOn(learned) == XDP_PASS ? 1 : 0;
  CHECK(passed == 1);
  CHECK(box.verdict(FILTER_DROP_RATE_LIMIT).packets == 9);
  for (int i = 0; i < 10; i++) CHECK(box.actionOn(validated) == XDP_PASS);
}

TEST_CASE("validation: who goes on sending stays known, who does not is forgotten") {
  if (cannotRunXdp("validation: lifetimes")) return;
  const ValidationBox box(FILTER_VALIDATE_RESET);
  const std::uint32_t lifetime = box.maps.head().validated_units;
  REQUIRE(box.connects({}));
  for (int i = 0; i < 5; i++) {
    box.age(lifetime / 2 + 2);
    CHECK(box.actionOn({.flags = kAck}) == XDP_PASS);
  }
  box.age(lifetime + 1);
  CHECK(box.actionOn({.flags = kAck}) == XDP_DROP);
  CHECK(box.actionOn({}) == XDP_TX);
}

TEST_CASE(
    "validation: a reset proves an address for the transparent way alone, since another may have brought it about") {
  if (cannotRunXdp("validation: proofs by reset")) return;
  ValidationBox box(FILTER_VALIDATE_TRANSPARENT);
  const Segment syn{.flags = kSyn}, segment{.flags = kAck};
  REQUIRE(box.connects(syn));
  CHECK(box.actionOn(segment) == XDP_PASS);
  box.changeAction(FILTER_VALIDATE_RESET);
  // Its connections go on as those of learned sources do, also after it has been kept for longer.
  box.age(1);
  CHECK(box.actionOn(segment) == XDP_PASS);
  CHECK(box.run(syn).action == XDP_TX);
  CHECK(box.actionOn({.flags = kRst}) == XDP_DROP);
  box.change([](filter_rule& rule) { rule.byte_cost = (std::uint64_t{FILTER_BURST_NS} << 16) / 54 * 2000; });
  CHECK(box.actionOn(segment) == XDP_PASS);
  CHECK(box.actionOn(segment) == XDP_DROP);
  REQUIRE(box.connects(syn));
  CHECK(box.known(SOURCE_VALIDATED) == 1);
  for (int i = 0; i < 3; i++) CHECK(box.actionOn(segment) == XDP_PASS);
  box.changeAction(FILTER_VALIDATE_TRANSPARENT);
  CHECK(box.actionOn(syn) == XDP_PASS);
}

TEST_CASE("validation: to a group of stations, and from sources that no host has, nothing is answered") {
  if (cannotRunXdp("validation: impossible sources")) return;
  for (const filter_action action : {FILTER_VALIDATE_RESET, FILTER_VALIDATE_TRANSPARENT}) {
    const ValidationBox box(action);
    const auto actionOn = [&](std::size_t at, std::uint8_t bits) {
      Bytes frame = ethernet(0x0800) + ipv4Packet({.protocol = 6}, header({}));
      frame[at] |= bits;
      return box.run(frame).action;
    };
    CHECK(actionOn(0, 0) == XDP_TX);
    CHECK(actionOn(0, 1) == XDP_DROP);
    CHECK(actionOn(0, 0xff) == XDP_DROP);
    CHECK(actionOn(6, 1) == XDP_DROP);
    for (const std::uint32_t source : {0U, 0x00010203U, 0x7f000001U, 0xa9fe0001U, 0xe0000001U, 0xefffffffU, 0xf0000001U,
                                       0xffffffffU, kProtected + 1}) {
      CAPTURE(source);
      CHECK(box.actionOn({.source = source}) == XDP_DROP);
    }
    for (const std::uint32_t source : {0x01000001U, 0x7e000001U, 0x80000001U, 0xdfffffffU, 0xa9fd0001U}) {
      CAPTURE(source);
      CHECK(box.actionOn({.source = source}) == XDP_TX);
    }
    const auto from6 = [&](const Address& source) {
      return box.run(ethernet(0x86dd) + ipv6Packet({.source = source, .nextHeader = 6}, header({}))).action;
    };
    const auto with = [](std::uint8_t first, std::uint8_t second, std::uint8_t last) {
      Address address{};
      address.bytes[0] = first;
      address.bytes[1] = second;
      address.bytes[15] = last;
      return address;
    };
    CHECK(from6(with(0, 0, 0)) == XDP_DROP);
    CHECK(from6(with(0, 0, 1)) == XDP_DROP);
    CHECK(from6(with(0xfe, 0x80, 1)) == XDP_DROP);
    CHECK(from6(with(0xff, 0x02, 1)) == XDP_DROP);
    CHECK(from6(with(0x20, 0x01, 1)) == XDP_TX);
    CHECK(box.verdict(FILTER_DROP_UNVALIDATED).packets > 0);
  }
}

TEST_CASE("validation: answers to one prefix of sources are bounded, whichever of its addresses are named") {
  if (cannotRunXdp("validation: bounded answers")) return;
  const ValidationBox box(FILTER_VALIDATE_RESET);
  constexpr std::uint32_t kAnswersMax = 4096;
  const std::uint64_t begin = bootNs() >> 30;
  std::uint64_t answered = 0;
  for (std::uint32_t i = 0; i < 8 * kAnswersMax; i++) {
    const auto port = static_cast<std::uint16_t>(1024 + (i & 0x7fff));
    answered += box.actionOn({.port = port, .source = 0x08080800 + (i & 0xff)}) == XDP_TX ? 1U : 0U;
  }
  // The program's clock may be one tick behind.
  const std::uint64_t periods = (bootNs() >> 30) - begin + 2;
  CHECK(answered >= kAnswersMax);
  CHECK(answered <= periods * kAnswersMax);
  CHECK(box.verdict(FILTER_DROP_UNVALIDATED).packets == 8 * kAnswersMax - answered);
  CHECK(box.actionOn({.source = 0x08090801}) == XDP_TX);
}

TEST_CASE("validation: a rule of a dry run counts what it would do, and lets all pass") {
  if (cannotRunXdp("validation: a dry run")) return;
  ValidationBox box(FILTER_VALIDATE_RESET);
  box.change([](filter_rule& rule) { rule.is_dry_run = 1; });
  CHECK(box.actionOn({}) == XDP_PASS);
  CHECK(box.actionOn({.flags = kAck}) == XDP_PASS);
  CHECK(box.verdict(FILTER_PASS_DEFAULT).packets == 2);
  std::uint64_t answered = 0, dropped = 0;
  for (const RuleHits& hits : box.rules.read(bootNs())) {
    answered += hits.answered.packets;
    dropped += hits.dropped.packets;
  }
  CHECK(answered == 1);
  CHECK(dropped == 1);
}

TEST_CASE("validation: rules that follow decide about who proved himself") {
  if (cannotRunXdp("validation: rules that follow")) return;
  ValidationBox box(FILTER_VALIDATE_RESET);
  REQUIRE(box.connects({}));
  WantedRule after = ruleTo(ipv4(kProtected + 1), "after");
  after.rule.destination_ports = 1;
  after.rule.ports[FILTER_PORT_RANGES] = {.from = 443, .to = 443};
  box.wantedRules.push_back(after);
  box.rules.set(box.wantedRules);
  CHECK(box.actionOn({}) == XDP_DROP);
  CHECK(box.verdict(FILTER_DROP_RULE).packets == 1);
  CHECK(box.actionOn({.source = kForeign + 2}) == XDP_TX);
}

TEST_CASE("validation: hostile frames are answered whole or not at all") {
  if (cannotRunXdp("validation: hostile frames")) return;
  const ValidationBox box(FILTER_VALIDATE_RESET);
  std::mt19937 random(7);
  std::vector<Wrapping> all = wrappings();
  std::size_t answered = 0;
  for (int i = 0; i < 20'000; i++) {
    const Wrapping& wrapping = all[random() % all.size()];
    Bytes frame = wrapping.wrap(header({.rest = Bytes(random() % 60, 1)}));
    for (unsigned changes = random() % 4; changes > 0; changes--) {
      frame[random() % std::min<std::size_t>(frame.size(), 90)] = static_cast<std::uint8_t>(random());
    }
    if (random() % 4 == 0) frame.resize(14 + random() % (frame.size() - 14));
    const Outcome outcome = box.run(frame);
    if (outcome.action != XDP_TX) {
      CHECK((outcome.action == XDP_PASS || outcome.action == XDP_DROP));
      continue;
    }
    answered++;
    CHECK(outcome.frame.size() <= frame.size());
    CHECK(outcome.frame.size() >= 54);
  }
  CHECK(answered > 5000);
  CHECK(box.known(SOURCE_VALIDATED) == 0);
}
