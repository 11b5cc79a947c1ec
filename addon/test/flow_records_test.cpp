#include <doctest/doctest.h>

#include <bit>

#include "flow/flow_transport.h"
#include "flow_messages.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

/// One record of these fields.
Received receivedOf(const Fields& fields, const Bytes& record, bool isIpfix = true) {
  Received received;
  if (isIpfix) {
    received.feed(ipfix({}, ipfixTemplate(256, fields) + flowSet(256, record)));
  } else {
    received.feed(netflow9({}, netflow9Template(256, fields) + flowSet(256, record)));
  }
  return received;
}
FlowRecord only(const Received& received) {
  REQUIRE(received.records.size() == 1);
  CHECK(received.undecoded() == "");
  return received.records[0];
}
/// Of fields beside an address and a packet of 100 bytes.
FlowRecord recordWith(Fields fields, const Bytes& values, bool isIpfix = true) {
  fields.insert(fields.begin(), {{12, 4}, {2, 1}, {1, 1}});
  return only(receivedOf(fields, words({kProtected}) + number(1, 1) + number(100, 1) + values, isIpfix));
}

constexpr std::uint64_t kNtp1970 = 2'208'988'800;

}  // namespace

TEST_CASE("flow records: IPv6, the addresses of both families in one template, and none of IPv4 taken for the other") {
  const Fields both = {{8, 4}, {12, 4}, {27, 16}, {28, 16}, {2, 1}, {1, 2}};
  const auto record = [](std::uint32_t four, const Address& six) {
    return words({four, four}) + bytesOf(six) + bytesOf(six) + number(1, 1) + number(100, 2);
  };
  CHECK(only(receivedOf(both, record(0, ipv6(1, 7)))).packet.destination == ipv6(1, 7));
  CHECK(only(receivedOf(both, record(kProtected, {}))).packet.destination == ipv4(kProtected));
  Fields versioned = both;
  versioned.push_back({60, 1});
  CHECK(only(receivedOf(versioned, record(kProtected, ipv6(1, 7)) + number(6, 1))).packet.destination == ipv6(1, 7));
  CHECK(only(receivedOf(versioned, record(kProtected, ipv6(1, 7)) + number(4, 1))).packet.destination ==
        ipv4(kProtected));
  const FlowRecord spoofed =
      only(receivedOf({{27, 16}, {28, 16}, {2, 1}}, bytesOf(ipv4(kProtected)) + bytesOf(ipv6(1, 7)) + number(1, 1)));
  CHECK(spoofed.packet.source == Address{});
}

TEST_CASE("flow records: every protocol has the class and the ports that the packet parser gives its packets") {
  for (unsigned protocol = 0; protocol < 256; protocol++) {
    CAPTURE(protocol);
    const auto value = static_cast<std::uint8_t>(protocol);
    const Bytes bytes = ipv4Packet({.protocol = value}, tcp(4000, 53, tcp_flag::kSyn));
    Packet packet, said;
    REQUIRE(parsePacket(frameOf(bytes), Link::rawIp, packet) == ParseError::none);
    said.protocol = value;
    setTransport(said, 4000, 53, tcp_flag::kSyn);
    CHECK(said.transport == packet.transport);
    CHECK(said.sourcePort == packet.sourcePort);
    CHECK(said.destinationPort == packet.destinationPort);
    CHECK(said.tcpFlags == packet.tcpFlags);
    CHECK(said.isSyn == packet.isSyn);
  }
}

TEST_CASE("flow records: ICMP's type is no port, flags of 16 bits are flags, SYN without ACK is a SYN") {
  const FlowRecord icmp = recordWith({{4, 1}, {7, 2}, {11, 2}}, number(1, 1) + number(0, 2) + number(0x0303, 2));
  CHECK(icmp.packet.destinationPort == 0);
  CHECK(icmp.packet.transport == Class::icmp);
  const FlowRecord syn = recordWith({{4, 1}, {6, 2}}, number(6, 1) + number(0x0102, 2));
  CHECK(syn.packet.tcpFlags == 0x02);
  CHECK(syn.packet.isSyn);
  CHECK_FALSE(recordWith({{4, 1}, {6, 1}}, number(6, 1) + number(0x12, 1)).packet.isSyn);
  CHECK(
      recordWith({{180, 2}, {182, 2}, {183, 2}, {4, 1}}, number(0, 2) + number(1234, 2) + number(80, 2) + number(6, 1))
          .packet.sourcePort == 1234);
}

TEST_CASE("flow records: several packets with flags of a SYN are SYNs only if they can have that length") {
  const Fields fields = {{12, 4}, {4, 1}, {6, 1}, {2, 2}, {1, 4}};
  const auto isSyn = [&](std::uint32_t packets, std::uint32_t bytes) {
    return only(receivedOf(fields,
                           words({kProtected}) + number(6, 1) + number(2, 1) + number(packets, 2) + words({bytes})))
        .packet.isSyn;
  };
  CHECK(isSyn(10, 600));
  CHECK_FALSE(isSyn(10, 610));
  CHECK(isSyn(1, 900));
}

TEST_CASE("flow records: fragments by offset and by flags") {
  const FlowRecord later =
      recordWith({{4, 1}, {88, 2}, {7, 2}, {11, 2}}, number(17, 1) + number(185, 2) + number(53, 2) + number(99, 2));
  CHECK(later.packet.isLaterFragment);
  CHECK(later.packet.isFragment);
  CHECK(later.packet.destinationPort == 0);
  const FlowRecord first = recordWith({{4, 1}, {197, 1}, {11, 2}}, number(17, 1) + number(0x20, 1) + number(99, 2));
  CHECK(first.packet.isFragment);
  CHECK_FALSE(first.packet.isLaterFragment);
  CHECK(first.packet.destinationPort == 99);
  CHECK_FALSE(recordWith({{197, 1}}, number(0x40, 1)).packet.isFragment);
}

TEST_CASE(
    "flow records: bytes of layer 2 are exact, totals count where there is no delta, what leaves where nothing came "
    "in") {
  const auto bytesOfRecord = [](const Fields& fields, const Bytes& values) {
    return only(receivedOf(fields, words({kProtected}) + values)).bytes;
  };
  CHECK(bytesOfRecord({{12, 4}, {2, 4}, {1, 4}, {352, 4}}, words({10, 1000, 1180})) == 1180);
  CHECK(bytesOfRecord({{12, 4}, {86, 4}, {85, 4}}, words({10, 1000})) == 1140);
  CHECK(bytesOfRecord({{12, 4}, {86, 4}, {85, 4}, {2, 4}, {1, 4}}, words({10, 1000, 1, 100})) == 114);
  CHECK(bytesOfRecord({{12, 4}, {2, 4}, {1, 4}, {24, 4}, {23, 4}}, words({0, 0, 10, 1000})) == 1140);
  CHECK(bytesOfRecord({{12, 4}, {2, 4}, {1, 4}, {24, 4}, {23, 4}}, words({1, 100, 10, 1000})) == 114);
}

TEST_CASE("flow records: packets without bytes, and bytes without packets, are the least that they can be") {
  Received bytes = receivedOf({{12, 4}, {1, 4}}, words({kProtected, 3001}));
  CHECK(only(bytes).packets == 3);
  CHECK(only(bytes).bytes == 3001 + 3 * 14);
  CHECK(bytes.status().counts.estimatedRecords == 1);
  CHECK(only(receivedOf({{12, 4}, {2, 4}}, words({kProtected, 5}))).bytes == 300);
}

TEST_CASE("flow records: the other direction of a flow is a record of its own, by RFC 5103") {
  const Fields fields = {{8, 4},        {12, 4}, {7, 2},  {11, 2},       {4, 1},        {6, 1},
                         {6, 1, 29305}, {2, 4},  {1, 4},  {2, 4, 29305}, {1, 4, 29305}, {10, 4},
                         {14, 4},       {16, 4}, {17, 4}, {5, 1},        {61, 1}};
  const auto record = [](std::uint32_t there, std::uint32_t back) {
    return words({kForeign, kProtected}) + number(4000, 2) + number(80, 2) + number(6, 1) + number(0x02, 1) +
           number(0x12, 1) + words({there, there * 60, back, back * 100, 3, 4, 64500, 64501}) + number(0xb8, 1) +
           number(0, 1);
  };
  const Received received = receivedOf(fields, record(1, 2));
  REQUIRE(received.records.size() == 2);
  const FlowRecord &there = received.records[0], &back = received.records[1];
  CHECK(there.packet.isSyn);
  CHECK(there.bytes == 74);
  CHECK(there.direction == FlowDirection::ingress);
  CHECK(back.packet.source == ipv4(kProtected));
  CHECK(back.packet.destination == ipv4(kForeign));
  CHECK(back.packet.sourcePort == 80);
  CHECK(back.packet.tcpFlags == 0x12);
  CHECK_FALSE(back.packet.isSyn);
  CHECK(back.packets == 2);
  CHECK(back.bytes == 228);
  CHECK(back.input == 4);
  CHECK(back.output == 3);
  CHECK(back.sourceAs == 64501);
  CHECK(back.destinationAs == 64500);
  CHECK(back.service == 0xb8);
  CHECK(back.direction == FlowDirection::unknown);
  const Received one = receivedOf(fields, record(0, 2));
  CHECK(only(one).packet.destination == ipv4(kForeign));
  CHECK(receivedOf(fields, record(0, 0)).status().counts.events == 1);
}

TEST_CASE("flow records: an IPv6 address that maps an IPv4 one is not that host") {
  const Fields fields = {{27, 16}, {28, 16}, {2, 4}, {1, 4}};
  const auto address = [](bool isMapped) {
    return isMapped ? Bytes(10, 0) + Bytes{0xff, 0xff, 203, 0, 113, 5} : Bytes{0x20, 0x01} + Bytes(14, 1);
  };
  const auto record = [&](bool source, bool destination) {
    return address(source) + address(destination) + words({10, 1000});
  };
  const Received to = receivedOf(fields, record(false, true));
  CHECK(to.records.empty());
  CHECK(to.undecoded() != "");
  CHECK(only(receivedOf(fields, record(true, false))).packet.source == Address{});
}

TEST_CASE("flow records: a duration in microseconds alone is one") {
  const Fields fields = {{12, 4}, {2, 4}, {1, 4}, {162, 4}};
  CHECK(only(receivedOf(fields, words({kProtected, 10, 1000, 30'000'000}))).durationMs == 30'000);
}

TEST_CASE("flow records: a firewall's events count nothing, its initiator and responder are two records") {
  const Fields fields = {{8, 4}, {12, 4}, {4, 1}, {233, 1}, {231, 4}, {232, 4}, {298, 4}, {299, 4}};
  const auto record = [](std::uint8_t event, std::initializer_list<std::uint32_t> counts) {
    return words({kForeign, kProtected}) + number(6, 1) + number(event, 1) + words(counts);
  };
  const Received created = receivedOf(fields, record(1, {0, 0, 0, 0}));
  CHECK(created.records.empty());
  CHECK(created.status().counts.events == 1);
  CHECK(created.undecoded() == "");
  const Received ended = receivedOf(fields, record(2, {1000, 5000, 10, 20}));
  REQUIRE(ended.records.size() == 2);
  CHECK(ended.records[0].bytes == 1140);
  CHECK(ended.records[1].bytes == 5280);
  CHECK(ended.records[1].packet.destination == ipv4(kForeign));
  // Without counters at all.
  CHECK(receivedOf({{12, 4}, {233, 1}}, words({kProtected}) + number(3, 1)).status().counts.events == 1);
}

TEST_CASE("flow records: duration and age by uptime, seconds, milliseconds, NTP's and 1970's micro- and nanoseconds") {
  constexpr std::uint32_t kSeconds = kFlowNowMs / 1000;
  const auto check = [](const FlowRecord& record, std::uint32_t durationMs, std::uint32_t ageMs) {
    CHECK(record.durationMs == durationMs);
    CHECK(record.ageMs == ageMs);
  };
  check(recordWith({{22, 4}, {21, 4}}, words({kUptimeMs - 5000, kUptimeMs - 2000}), false), 3000, 2000);
  check(recordWith({{150, 4}, {151, 4}}, words({kSeconds - 9, kSeconds - 4})), 5000, 4000);
  check(recordWith({{152, 8}, {153, 8}}, number(kFlowNowMs - 900, 8) + number(kFlowNowMs - 200, 8)), 700, 200);
  const auto ntp = [](std::uint64_t ms) {
    return number(((ms / 1000 + kNtp1970) << 32) + ((ms % 1000 << 32) / 1000) + 9, 8);
  };
  check(recordWith({{154, 8}, {155, 8}}, ntp(kFlowNowMs - 2500) + ntp(kFlowNowMs - 500)), 2000, 500);
  check(recordWith({{156, 8}, {157, 8}}, ntp(kFlowNowMs - 2500) + ntp(kFlowNowMs - 500)), 2000, 500);
  const auto us = [](std::uint64_t ms) { return number(ms * 1000, 8); };
  check(recordWith({{154, 8}, {155, 8}}, us(kFlowNowMs - 2500) + us(kFlowNowMs - 500)), 2000, 500);
  check(recordWith({{158, 4}, {159, 4}}, words({3'000'000, 1'000'000})), 2000, 1000);
  check(recordWith({{153, 8}, {161, 4}}, number(kFlowNowMs - 200, 8) + words({60'000})), 60'000, 200);
  check(recordWith({{162, 4}, {152, 8}}, words({5'000'000}) + number(kFlowNowMs - 7000, 8)), 5000, 2000);
  // The firewall's event ends the flow that began before.
  check(recordWith({{152, 8}, {323, 8}}, number(kFlowNowMs - 4000, 8) + number(kFlowNowMs - 1000, 8)), 3000, 1000);
}

TEST_CASE("flow records: times that wrap, go backwards, lie ahead or are absent are no durations") {
  const auto check = [](const FlowRecord& record, std::uint32_t durationMs, std::uint32_t ageMs) {
    CHECK(record.durationMs == durationMs);
    CHECK(record.ageMs == ageMs);
  };
  check(recordWith({{22, 4}, {21, 4}}, words({0, 0}), false), 0, 0);
  check(recordWith({{22, 4}, {21, 4}}, words({500, 400}), false), 0, kUptimeMs - 400);
  check(recordWith({{22, 4}, {21, 4}}, words({kUptimeMs, kUptimeMs + 700}), false), 700, 0);
  check(recordWith({{152, 8}, {153, 8}}, number(5, 8) + number(9, 8)), 0, 0);
  Received wrapped;
  wrapped.feed(
      netflow9({.uptimeMs = 100}, netflow9Template(256, {{12, 4}, {2, 1}, {22, 4}, {21, 4}}) +
                                      flowSet(256, words({kProtected}) + number(1, 1) + words({0xffffff00, 50}))));
  check(only(wrapped), 306, 50);
}

TEST_CASE("flow records: IPFIX takes the exporter's uptime from its options, without it the duration alone") {
  const Fields fields = {{12, 4}, {2, 1}, {22, 4}, {21, 4}};
  const Bytes record = words({kProtected}) + number(1, 1) + words({1000, 3000});
  CHECK(only(receivedOf(fields, record)).durationMs == 2000);
  CHECK(only(receivedOf(fields, record)).ageMs == 0);
  Received received;
  received.feed(ipfix({}, ipfixOptions(300, {{143, 4}}, {{160, 8}}) +
                              flowSet(300, words({0}) + number(kFlowNowMs - 10'000, 8)) + ipfixTemplate(256, fields) +
                              flowSet(256, record)));
  CHECK(only(received).durationMs == 2000);
  CHECK(only(received).ageMs == 7000);
}

TEST_CASE("flow records: what ended long before it was exported is counted as late") {
  Received received;
  const Fields fields = {{12, 4}, {2, 1}, {21, 4}};
  received.feed(
      netflow9({}, netflow9Template(256, fields) +
                       flowSet(256, words({kProtected}) + number(1, 1) + words({kUptimeMs - kLateRecordMs - 1}) +
                                        words({kProtected}) + number(1, 1) + words({kUptimeMs - kLateRecordMs}))));
  CHECK(received.records.size() == 2);
  CHECK(received.status().counts.lateRecords == 1);
}

TEST_CASE("flow records: counters that no interface reaches stay within what a rate may multiply") {
  const FlowRecord record =
      only(receivedOf({{12, 4}, {2, 8}, {1, 8}}, words({kProtected}) + number(~0ULL, 8) + number(~0ULL, 8)));
  CHECK(record.packets == std::uint64_t{1} << 48);
  CHECK(record.bytes == (std::uint64_t{1} << 48) * 15);
  CHECK(record.packet.wire == 15);
}

TEST_CASE("flow records: sections of packets go through the packet parser") {
  const Bytes ip = ipv4Packet({.protocol = 6}, tcp(4000, 80, tcp_flag::kSyn));
  const Bytes frame = ethernet(0x8100) + vlanTag(0x0800) + ip;
  const auto variable = [](const Bytes& bytes) { return number(bytes.size(), 1) + bytes; };
  const Received received =
      receivedOf({{10, 4}, {312, 2}, {315, 65535}}, words({7}) + number(1400, 2) + variable(frame));
  const FlowRecord record = only(received);
  CHECK(record.packet.isSyn);
  CHECK(record.packet.destinationPort == 80);
  CHECK(record.packets == 1);
  CHECK(record.bytes == 1400);
  CHECK(record.packet.wire == 1400);
  CHECK(record.input == 7);
  CHECK(record.link == Link::ethernet);
  CHECK(received.headers[0] == frame);
  const FlowRecord ofIp = only(receivedOf({{313, 65535}}, variable(ip)));
  CHECK(ofIp.packet.isSyn);
  CHECK(ofIp.bytes == ip.size() + 14);
  CHECK(ofIp.link == Link::rawIp);
  const FlowRecord ofCisco = only(receivedOf(
      {{104, 58}, {2, 4}, {1, 4}}, text("", 0) + Bytes(frame.begin(), frame.begin() + 58) + words({3, 180}), false));
  CHECK(ofCisco.packets == 3);
  CHECK(ofCisco.bytes == 222);
  CHECK(ofCisco.packet.destination == ipv4(kProtected + 1));
}

TEST_CASE("flow records: a report of one packet without counters counts it by its length") {
  const FlowRecord record = only(receivedOf({{12, 4}, {224, 4}}, words({kProtected, 500})));
  CHECK(record.packets == 1);
  CHECK(record.bytes == 514);
}

TEST_CASE("flow records: each element of a field that is carried fills it, with all of its bits") {
  constexpr std::uint32_t kValue = 0xfedcba98;
  const auto madeOf = [](std::uint16_t element) { return recordWith({{element, 4}}, words({kValue})); };
#define IN_RECORD(name, bits, back, ...)                                                  \
  for (const std::uint16_t element : std::initializer_list<std::uint16_t>{__VA_ARGS__}) { \
    CAPTURE(element);                                                                     \
    CHECK(madeOf(element).name == static_cast<std::uint##bits##_t>(kValue));              \
  }
#include "flow_fields_abi.h"
  CHECK(madeOf(16).sourceAs == kValue);
  CHECK(madeOf(252).input == kValue);
  CHECK(madeOf(253).output == kValue);
}

TEST_CASE("NetFlow v5: all fields of a record, the rate of its header, and a count that lies") {
  const Bytes record = words({kForeign, kProtected, 0}) + number(3, 2) + number(4, 2) +
                       words({10, 1000, kUptimeMs - 5000, kUptimeMs - 1000}) + number(4000, 2) + number(80, 2) +
                       number(0x0002, 2) + number(6, 1) + number(0, 1) + number(64500, 2) + number(64501, 2) + Bytes(4);
  const auto datagram = [&](std::uint16_t count, std::uint16_t sampling) {
    return number(5, 2) + number(count, 2) + words({kUptimeMs, kFlowNowMs / 1000, 0, 0}) + number(0x0102, 2) +
           number(sampling, 2) + record;
  };
  Received received;
  received.feed(datagram(1, 0x4000 | 100));
  const FlowRecord made = only(received);
  CHECK(made.packet.source == ipv4(kForeign));
  CHECK(made.packet.destination == ipv4(kProtected));
  CHECK(made.packet.destinationPort == 80);
  CHECK(made.packet.tcpFlags == 2);
  CHECK(made.packet.wire == 114);
  CHECK(made.packets == 10);
  CHECK(made.bytes == 1140);
  CHECK(made.input == 3);
  CHECK(made.output == 4);
  CHECK(made.sourceAs == 64500);
  CHECK(made.destinationAs == 64501);
  CHECK(made.durationMs == 4000);
  CHECK(made.ageMs == 1000);
  CHECK(made.samplingRate == 100);
  REQUIRE(received.status().samplings.size() == 1);
  CHECK(received.status().samplings[0].origin == SamplingOrigin::header);
  CHECK(received.status().samplings[0].domain == 0x0102);
  Received unsaid;
  CHECK(unsaid.feed(datagram(1, 0)).records[0].samplingRate == 0);
  CHECK(unsaid.status().samplings[0].origin == SamplingOrigin::unknown);
  Received lying;
  lying.feed(datagram(2, 0));
  CHECK(lying.records.empty());
  CHECK(lying.undecoded() == "datagram of version 5 and 72 bytes has count or length 2 x1");
}

TEST_CASE("flow records: datagrams of no known version, and those that are too short") {
  Received received;
  received.feed(number(7, 2) + Bytes(70)).feed(words({4, 1, 2})).feed(Bytes(3, 9)).feed(number(9, 2) + Bytes(10));
  received.feed(number(10, 2) + number(200, 2) + Bytes(60));
  CHECK(received.records.empty());
  CHECK(received.undecoded() ==
        "version 7 is not sFlow v5, NetFlow v5, v9 or IPFIX x1; version 4 is not sFlow v5, NetFlow v5, v9 or IPFIX x1; "
        "datagram of version 0 and 3 bytes has count or length 0 x1; "
        "datagram of version 9 and 12 bytes has count or length 0 x1; "
        "datagram of version 10 and 64 bytes has count or length 200 x1");
}
