#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "validation_box.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint16_t kPort = 40'000;
constexpr std::size_t kHeader = 12;

/// A name of this number of bytes, with its end.
Bytes nameOf(std::size_t bytes) {
  Bytes name;
  for (std::size_t left = bytes - 1; left > 0;) {
    // No label is empty, also not the last.
    const std::size_t label = std::min<std::size_t>(left == 65 ? 62 : 63, left - 1);
    name.push_back(static_cast<std::uint8_t>(label));
    append(name, Bytes(label, 'a'));
    left -= label + 1;
  }
  name.push_back(0);
  return name;
}

struct Query {
  std::uint8_t flags = 1;
  std::uint8_t moreFlags = 0x30;
  std::vector<std::uint16_t> counts = {1, 0, 0, 0};
  Bytes name = nameOf(13);
  Bytes rest{};
};

Bytes message(const Query& query) {
  Bytes bytes{0xab, 0xcd, query.flags, query.moreFlags};
  for (const std::uint16_t count : query.counts) put16(bytes, count);
  return bytes + query.name + Bytes{0, 1, 0, 1} + query.rest;
}

/// OPT with the flag DO and a cookie.
Bytes optWithCookie() { return {0, 0, 41, 4, 0xd0, 0, 0, 0x80, 0, 0, 12, 0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8}; }

Bytes datagram(const Bytes& payload) {
  Bytes bytes;
  for (const std::size_t value : {std::size_t{kPort}, std::size_t{53}, 8 + payload.size(), std::size_t{0}}) {
    put16(bytes, static_cast<std::uint32_t>(value));
  }
  return bytes + payload;
}

Bytes queryFrame(const Bytes& payload) { return ethernet(0x0800) + ipv4Packet({}, datagram(payload)); }

struct DnsBox : ValidationBox {
  DnsBox() : ValidationBox(FILTER_VALIDATE_DNS) {
    change([](filter_rule& rule) {
      rule.protocol = 17;
      rule.destination_ports = 1;
      rule.ports[FILTER_PORT_RANGES] = {.from = 53, .to = 53};
    });
  }
};

/// Whether the answer has this message, goes back where the query came from, and its checksums are right.
void checkAnswer(const Bytes& answer, const Bytes& query, std::size_t network, bool isIpv6, const Bytes& wanted) {
  const std::size_t udpAt = network + (isIpv6 ? 40 : 20), at = network + (isIpv6 ? 8 : 12), bytes = isIpv6 ? 16 : 4;
  REQUIRE(answer.size() == udpAt + 8 + wanted.size());
  CHECK(answer.size() <= query.size());
  CHECK(std::equal(answer.begin(), answer.begin() + 6, query.begin() + 6));
  CHECK(std::equal(answer.begin() + 6, answer.begin() + 12, query.begin()));
  const auto part = [](const Bytes& of, std::size_t from, std::size_t count) {
    return Bytes(of.begin() + static_cast<long>(from), of.begin() + static_cast<long>(from + count));
  };
  CHECK(part(answer, at, bytes) == part(query, at + bytes, bytes));
  CHECK(part(answer, at + bytes, bytes) == part(query, at, bytes));
  CHECK(at32(answer, udpAt) == (53U << 16 | kPort));
  const std::size_t length = at32(answer, udpAt + 4) >> 16;
  CHECK(length == 8 + wanted.size());
  CHECK(part(answer, udpAt + 8, wanted.size()) == wanted);
  std::uint32_t pseudo = 17 + 8 + static_cast<std::uint32_t>(wanted.size());
  for (std::size_t i = 0; i < 2 * bytes; i += 2) pseudo += std::uint32_t{answer[at + i]} << 8 | answer[at + i + 1];
  CHECK(checksumOf(answer, udpAt, answer.size() - udpAt, pseudo) == 0);
  CHECK((at32(answer, udpAt + 4) & 0xffff) != 0);
  if (isIpv6) {
    CHECK(at32(answer, network + 4) == (static_cast<std::uint32_t>(answer.size() - udpAt) << 16 | 17U << 8 | 64U));
  } else {
    CHECK(checksumOf(answer, network, 20) == 0);
    CHECK((at32(answer, network) & 0xffff) == answer.size() - network);
  }
}

}  // namespace

TEST_CASE("DNS: an unknown source's query is answered with the question and TC, in every wrapping") {
  if (cannotRunXdp("DNS: every wrapping")) return;
  const DnsBox box;
  const Query plain, withOpt{.flags = 0, .counts = {1, 0, 0, 1}, .rest = optWithCookie()};
  Query answered = plain, answeredOpt = withOpt;
  answered.flags = 0x83;
  answeredOpt.flags = 0x82;
  answered.moreFlags = answeredOpt.moreFlags = 0x10;
  answeredOpt.rest = {0, 0, 41, 4, 0xd0, 0, 0, 0x80, 0, 0, 0};
  const auto in4 = [](const Bytes& payload) { return ipv4Packet({}, datagram(payload)); };
  const auto in6 = [](const Bytes& payload) { return ipv6Packet({.nextHeader = 17}, datagram(payload)); };
  const std::vector<Wrapping> wrappings = {
      {"IPv4", 14, false, [=](const Bytes& p) { return ethernet(0x0800) + in4(p); }},
      {"IPv4 in QinQ", 22, false,
       [=](const Bytes& p) { return ethernet(0x88a8) + vlanTag(0x8100) + vlanTag(0x0800) + in4(p); }},
      {"IPv6", 14, true, [=](const Bytes& p) { return ethernet(0x86dd) + in6(p); }},
      {"IPv6 in QinQ", 22, true,
       [=](const Bytes& p) { return ethernet(0x88a8) + vlanTag(0x8100) + vlanTag(0x86dd) + in6(p); }},
  };
  for (const Wrapping& wrapping : wrappings) {
    CAPTURE(wrapping.name);
    const auto check = [&](const Query& query, const Query& wanted) {
      const Bytes frame = wrapping.wrap(message(query));
      const Outcome outcome = box.run(frame);
      REQUIRE(outcome.action == XDP_TX);
      checkAnswer(outcome.frame, frame, wrapping.network, wrapping.isIpv6, message(wanted));
    };
    check(plain, answered);
    check(withOpt, answeredOpt);
  }
  CHECK(box.verdict(FILTER_ANSWER_TRUNCATED).packets == 2 * wrappings.size());
}

TEST_CASE("DNS: names of every length are answered, and records that are not OPT are left out") {
  if (cannotRunXdp("DNS: names")) return;
  const DnsBox box;
  for (std::size_t bytes = 1; bytes <= 255; bytes += bytes == 1 ? 2 : 1) {
    CAPTURE(bytes);
    Query query{.counts = {1, 0, 0, 2}, .name = nameOf(bytes), .rest = Bytes(bytes % 7, 1)};
    const Bytes frame = queryFrame(message(query));
    const Outcome outcome = box.run(frame);
    query.flags = 0x83;
    query.moreFlags = 0x10;
    query.counts = {1, 0, 0, 0};
    query.rest = {};
    REQUIRE(outcome.action == XDP_TX);
    checkAnswer(outcome.frame, frame, 14, false, message(query));
  }
}

TEST_CASE("DNS: what is no query is dropped") {
  if (cannotRunXdp("DNS: no queries")) return;
  const DnsBox box;
  const auto refuses = [&](const Bytes& frame) { return box.run(frame).action == XDP_DROP; };
  CHECK(refuses(queryFrame(message({.flags = 0x81}))));
  CHECK(refuses(queryFrame(message({.flags = 0x29}))));
  CHECK(refuses(queryFrame(message({.counts = {0, 0, 0, 0}}))));
  CHECK(refuses(queryFrame(message({.counts = {2, 0, 0, 0}}))));
  CHECK(refuses(queryFrame(message({.counts = {1, 1, 0, 0}}))));
  CHECK(refuses(queryFrame(message({.counts = {1, 0, 1, 0}}))));
  CHECK(refuses(queryFrame(message({.name = {0xc0, 12}}))));
  CHECK(refuses(queryFrame(message({.name = nameOf(256)}))));
  CHECK(refuses(queryFrame(message({.name = Bytes(200, 1)}))));
  const Bytes whole = message({});
  for (std::size_t bytes = 0; bytes < whole.size(); bytes++) {
    CAPTURE(bytes);
    CHECK(refuses(queryFrame(Bytes(whole.begin(), whole.begin() + static_cast<long>(bytes)))));
    // Its end lies in the frame's padding.
    const auto length = static_cast<int>(28 + bytes);
    CHECK(refuses(ethernet(0x0800) + ipv4Packet({.totalLength = length}, datagram(whole))));
  }
  CHECK(refuses(ethernet(0x0800) + ipv4Packet({.options = 1}, datagram(whole))));
  CHECK(refuses(ethernet(0x86dd) + ipv6Packet({.nextHeader = 60}, Bytes{17, 0, 1, 4, 0, 0, 0, 0} + datagram(whole))));
}

TEST_CASE("DNS: a source that proved its address by TCP asks by UDP") {
  if (cannotRunXdp("DNS: by TCP")) return;
  DnsBox box;
  WantedRule byTcp = ruleTo(ipv4(kProtected + 1), "tcp");
  byTcp.rule.asks |= FILTER_ASKS_PROTOCOL;
  byTcp.rule.protocol = 6;
  byTcp.rule.action = FILTER_VALIDATE_TRANSPARENT;
  box.wantedRules.push_back(byTcp);
  box.rules.set(box.wantedRules);
  const Bytes query = queryFrame(message({}));
  CHECK(box.run(query).action == XDP_TX);
  REQUIRE(box.connects({}));
  // By a reset only: who sent the SYN may be another, who has the victim answer to this address.
  CHECK(box.run(query).action == XDP_TX);
  box.wantedRules.back().rule.action = FILTER_VALIDATE_RESET;
  box.rules.set(box.wantedRules);
  REQUIRE(box.connects({}));
  const Outcome outcome = box.run(query);
  CHECK(outcome.action == XDP_PASS);
  CHECK(outcome.frame == query);
}

TEST_CASE("DNS: whatever comes, no answer is longer than what it answers or has a wrong checksum") {
  if (cannotRunXdp("DNS: random")) return;
  const DnsBox box;
  std::mt19937 random(7);
  const Bytes seed = queryFrame(message({.counts = {1, 0, 0, 1}, .rest = optWithCookie()}));
  std::size_t answered = 0;
  for (int i = 0; i < 20'000; i++) {
    Bytes frame = seed;
    for (std::uint32_t change = random() % 4; change > 0; change--) {
      frame[34 + random() % (frame.size() - 34)] = static_cast<std::uint8_t>(random());
    }
    frame[36] = 0;
    frame[37] = 53;
    if (random() % 4 == 0) frame.resize(frame.size() - random() % 40);
    const Outcome outcome = box.run(frame);
    REQUIRE((outcome.action == XDP_TX || outcome.action == XDP_DROP));
    if (outcome.action == XDP_DROP) continue;
    answered++;
    REQUIRE(outcome.frame.size() <= frame.size());
    std::uint32_t pseudo = 17 + static_cast<std::uint32_t>(outcome.frame.size()) - 34;
    for (std::size_t at = 26; at < 34; at += 2) pseudo += std::uint32_t{outcome.frame[at]} << 8 | outcome.frame[at + 1];
    REQUIRE(checksumOf(outcome.frame, 34, outcome.frame.size() - 34, pseudo) == 0);
    REQUIRE(outcome.frame[44] == (0x82 | (frame[44] & 1)));
  }
  CHECK(answered > 1000);
}
