// How records are meant whose counters, times or templates are not what their elements say at first sight.
#include <doctest/doctest.h>

#include "collector/plausibility.h"
#include "flow/flow_bounds.h"
#include "flow/flow_ledger.h"
#include "flow_talk.h"

using namespace floodwall;
using namespace floodwall::test;

TEST_CASE("impossible records: a mean packet is no shorter than an IP header and no longer than a packet can be") {
  const Fields fields = withFlow({{2, 8}, {1, 8}});
  const auto counts = [&](std::uint64_t packets, std::uint64_t bytes) {
    Talk talk(fields);
    talk.record(flowOf(1, number(packets, 8) + number(bytes, 8)));
    CHECK(talk.judged.records.size() + talk.judged.impossible() == 1);
    return talk.judged.impossible() == 0;
  };
  CHECK(counts(10, 200));
  CHECK_FALSE(counts(10, 199));
  CHECK(counts(10, 655'750));
  CHECK_FALSE(counts(10, 700'000));
  CHECK_FALSE(counts(~0ULL, ~0ULL));
  CHECK_FALSE(counts(~0ULL, ~0ULL - 1499));
  CHECK_FALSE(counts(5, ~0ULL));
}

TEST_CASE("impossible records: a counter below 0 is named as that, whatever its length") {
  Talk talk(withFlow({{1, 4}}));
  talk.record(flowOf(1, words({0xffffffff})))
      .record(flowOf(1, words({0xffff0001})))
      .record(flowOf(1, words({0xf0000000})));
  CHECK(talk.judged.leftOut(LeftOut::impossibleCount) == 2);
  CHECK(talk.judged.records.size() == 1);
  Talk small(withFlow({{2, 2}, {1, 4}}));
  small.record(flowOf(1, number(0xffff, 2) + words({6'553'500})));
  CHECK(small.judged.records.size() == 1);
}

TEST_CASE("impossible records: more than the fastest interface carries in the record's time") {
  FlowRecord record;
  const auto isPossible = [&](std::uint32_t durationMs, std::uint64_t packets) {
    record.durationMs = durationMs;
    record.packets = packets;
    record.bytes = 1000 * packets;
    record.samplingRate = 1000;
    return !impossibilityOf(record).has_value();
  };
  // 200 MB in a millisecond.
  CHECK(isPossible(10'000, 2'000'000));
  CHECK_FALSE(isPossible(10'000, 2'000'001));
  CHECK(isPossible(1, 200'000));
  CHECK_FALSE(isPossible(1, 200'001));
  CHECK(isPossible(0, 12'000'000));
  CHECK_FALSE(isPossible(0, 12'000'001));
}

TEST_CASE(
    "firewall events: updates count what came since the last, the end what they did not have, in both directions") {
  const Fields fields = withFlow({{148, 4}, {233, 1}, {152, 8}, {323, 8}, {231, 4}, {232, 4}});
  const auto event = [](std::uint32_t id, std::uint8_t kind, std::uint32_t second, std::uint32_t there,
                        std::uint32_t back) {
    return flowOf(1, words({id}) + number(kind, 1) + number(kFlowNowMs, 8) + number(kFlowNowMs + 1000 * second, 8) +
                         words({there, back}));
  };
  Talk talk(fields);
  talk.record(event(7, 1, 0, 0, 0)).record(event(7, 5, 60, 60'000, 3000), kNowSeconds + 60);
  talk.record(event(7, 5, 120, 30'000, 0), kNowSeconds + 120).record(event(7, 2, 130, 93'000, 3000), kNowSeconds + 130);
  CHECK(countedBy(talk.judged).second == 96'000);
  // Over the time since the record before, and not since the start.
  REQUIRE(talk.judged.records.size() == 4);
  CHECK(talk.judged.records[0].durationMs == 60'000);
  CHECK(talk.judged.records[2].durationMs == 60'000);
  CHECK(talk.judged.records[3].durationMs == 10'000);
  // A flow without updates, one whose end has less than its updates, and another of the same key.
  talk.judged.records.clear();
  talk.record(event(8, 2, 140, 5000, 0), kNowSeconds + 140);
  talk.record(event(9, 5, 140, 5000, 0), kNowSeconds + 140).record(event(9, 2, 150, 1000, 0), kNowSeconds + 150);
  CHECK(countedBy(talk.judged).second == 11'000);
}

TEST_CASE("totals: a flow that was seen before counts by difference, a new one of its key by all") {
  const Fields fields = withFlow({{86, 4}, {85, 4}, {152, 8}, {153, 8}});
  const auto record = [](std::uint32_t packets, std::uint64_t startMs, std::uint64_t endMs) {
    return flowOf(1, words({packets, packets * 100}) + number(startMs, 8) + number(endMs, 8));
  };
  Talk talk(fields);
  for (std::uint32_t i = 1; i <= 14; i++) {
    talk.record(record(1000 * i, kFlowNowMs, kFlowNowMs + 1000 * i), kNowSeconds + i);
  }
  CHECK(countedBy(talk.judged) == std::pair<std::uint64_t, std::uint64_t>{14'000, 1'400'000});
  for (const FlowRecord& made : talk.judged.records) CHECK(made.durationMs == 1000);
  // Nothing new, another start, and less than before.
  talk.judged.records.clear();
  talk.record(record(14'000, kFlowNowMs, kFlowNowMs + 14'000), kNowSeconds + 15);
  CHECK(talk.judged.records.empty());
  talk.record(record(15'000, kFlowNowMs + 16'000, kFlowNowMs + 20'000), kNowSeconds + 20);
  talk.record(record(10, kFlowNowMs + 16'000, kFlowNowMs + 21'000), kNowSeconds + 21);
  CHECK(countedBy(talk.judged).first == 15'010);
}

TEST_CASE(
    "totals: of a flow that began before the first datagram of its exporter the last part counts, unless it is over") {
  const Fields fields = withFlow({{136, 1}, {86, 4}, {152, 8}, {153, 8}});
  const auto counted = [&](std::uint8_t reason) {
    Talk talk(fields);
    talk.record(
        flowOf(1, number(reason, 1) + words({600'000}) + number(kFlowNowMs - 600'000, 8) + number(kFlowNowMs, 8)));
    REQUIRE(talk.judged.records.size() == 1);
    return std::pair{talk.judged.records[0].packets, talk.judged.records[0].durationMs};
  };
  CHECK(counted(2) == std::pair{std::uint64_t{60'000}, 60'000U});
  CHECK(counted(3) == std::pair{std::uint64_t{600'000}, 600'000U});
}

TEST_CASE("ledger: a flood of flows does not push out those that go on, and a flow without a place grows evenly") {
  FlowLedger ledger;
  const auto report = [](std::uint64_t key, std::uint64_t packets, std::int64_t startMs, std::int64_t endMs) {
    return FlowReport{.key = key, .sums = {.packets = packets}, .startMs = startMs, .endMs = endMs, .hasStart = true};
  };
  constexpr std::uint64_t kNow = 1'000'000;
  std::uint64_t random = 1;
  std::vector<std::uint64_t> lasting;
  for (std::size_t i = 0; i < 1000; i++) lasting.push_back((random = random * 6'364'136'223'846'793'005 + 1) | 1);
  for (const std::int64_t second : {10, 20}) {
    for (const std::uint64_t key : lasting) {
      CHECK(ledger.ofTotals(report(key, static_cast<std::uint64_t>(second), 0, 1000 * second), kNow).sums.packets ==
            10);
    }
  }
  for (std::size_t i = 0; i < 200'000; i++) {
    random = random * 6'364'136'223'846'793'005 + 1;
    CHECK(ledger.ofTotals(report(random | 1, 1, 20'000, 20'000), kNow).sums.packets == 1);
  }
  CHECK(ledger.untracked() > 100'000);
  CHECK(ledger.memoryBytes() <= 4U << 20);
  std::uint64_t sum = 0;
  for (const std::uint64_t key : lasting) sum += ledger.ofTotals(report(key, 30, 0, 30'000), kNow).sums.packets;
  CHECK(sum == 10'000);
  // One that was never seen, of 40 s, where others are reported each 10 s.
  const FlowGrowth growth = ledger.ofTotals(report(2, 4000, 0, 40'000), kNow);
  CHECK(growth.sums.packets == 1000);
  CHECK(growth.durationMs == 10'000);
}

TEST_CASE("ledger: a flood of flows that end takes no place of those that go on") {
  FlowLedger ledger;
  const auto report = [](std::uint64_t key, std::uint64_t packets, std::int64_t endMs) {
    return FlowReport{.key = key, .sums = {.packets = packets}, .endMs = endMs, .hasStart = true};
  };
  constexpr std::uint64_t kNow = 1'000'000, kLasting = 1000;
  for (std::uint64_t key = 1; key <= kLasting; key++) {
    CHECK(ledger.ofUpdate(report(key, 10, 10'000), kNow).sums.packets == 10);
  }
  for (std::uint64_t key = kLasting + 1; key < 100'000; key++) {
    CHECK(ledger.ofEnd(report(key, 5, 20'000), kNow).sums.packets == 5);
  }
  std::uint64_t sum = 0;
  for (std::uint64_t key = 1; key <= kLasting; key++) {
    sum += ledger.ofEnd(report(key, 15, 30'000), kNow).sums.packets;
  }
  CHECK(sum == 5 * kLasting);
  CHECK(ledger.untracked() == 0);
}

TEST_CASE(
    "start times that stay: each record counts over the time since the one before, also of flows not seen before") {
  const Fields fields = withFlow({{2, 4}, {1, 4}, {152, 8}, {153, 8}});
  const auto record = [](std::uint16_t port, std::uint32_t seconds) {
    return flowOf(port, words({2000, 200'000}) + number(kFlowNowMs, 8) + number(kFlowNowMs + 1000 * seconds, 8));
  };
  Talk talk(fields);
  for (std::uint32_t second = 2; second <= 10; second += 2) talk.record(record(1, second), kNowSeconds + second);
  talk.record(record(2, 60), kNowSeconds + 60);
  REQUIRE(talk.judged.records.size() == 6);
  for (const FlowRecord& made : talk.judged.records) CHECK(made.durationMs == 2000);
}

TEST_CASE(
    "start times that stay are not learned of an exporter whose start times restart, nor of flows that are over") {
  const Fields fields = withFlow({{2, 4}, {1, 4}, {152, 8}, {153, 8}});
  const auto record = [](std::uint16_t port, std::uint32_t from, std::uint32_t to) {
    return flowOf(port,
                  words({2000, 200'000}) + number(kFlowNowMs + 1000 * from, 8) + number(kFlowNowMs + 1000 * to, 8));
  };
  const auto lastDurationMs = [](Talk& talk) { return talk.judged.records.back().durationMs; };
  Talk restarted(fields);
  restarted.record(record(1, 0, 60), kNowSeconds + 60).record(record(1, 60, 120), kNowSeconds + 120);
  restarted.record(record(2, 100, 121), kNowSeconds + 121).record(record(2, 100, 122), kNowSeconds + 122);
  restarted.record(record(3, 60, 122), kNowSeconds + 122);
  CHECK(lastDurationMs(restarted) == 62'000);
  // Two flows of one sender that differ in what the record does not have, and end by the inactive timeout.
  Talk over(fields);
  over.record(record(1, 0, 10), kNowSeconds + 25)
      .record(record(1, 0, 11), kNowSeconds + 26)
      .record(record(2, 0, 60), kNowSeconds + 60);
  CHECK(lastDurationMs(over) == 60'000);
}

TEST_CASE("templates belong to the port that sent them, and end with a restart") {
  const Fields other = {{12, 4}, {8, 4}, {11, 2}, {7, 2}, {4, 1}, {1, 4}, {2, 4}};
  Received received;
  const auto feed = [&](std::uint16_t port, std::uint32_t sequence, const Bytes& sets,
                        std::uint32_t uptimeMs = kUptimeMs) {
    received.feed(netflow9({.number = sequence, .uptimeMs = uptimeMs}, sets), kFlowNowMs, port);
  };
  feed(5001, 7, netflow9Template(256, kPlainFields));
  feed(5002, 3, netflow9Template(256, other));
  feed(5001, 8, flowSet(256, plainRecord()));
  feed(5002, 4,
       flowSet(256, words({kProtected + 9, kForeign}) + number(53, 2) + number(4000, 2) + number(17, 1) +
                        words({1000, 10})));
  REQUIRE(received.records.size() == 2);
  CHECK(received.records[1].packet.destination == ipv4(kProtected + 9));
  CHECK(received.records[1].packets == 10);
  // It begins again, with other templates.
  feed(5001, 0, flowSet(256, plainRecord()), 1000);
  CHECK(received.records.size() == 2);
  feed(5001, 1, netflow9Template(256, kPlainFields), 1001);
  CHECK(received.records.size() == 3);
}

TEST_CASE("IPFIX templates end with a restart on the same port, if both the sequence and the system began again") {
  const auto countsAfter = [](std::uint32_t sequence, std::uint64_t systemInitMs) {
    constexpr std::uint64_t kBegan = kFlowNowMs - 90'000'000;
    Received received;
    const Bytes options = ipfixOptions(300, {{149, 4}}, {{160, 8}});
    const auto init = [](std::uint64_t ms) { return flowSet(300, words({0}) + number(ms, 8)); };
    received.feed(ipfix({.number = 500'000}, ipfixTemplate(256, kPlainFields) + options + init(kBegan)), kFlowNowMs);
    received.feed(ipfix({.number = 500'001}, flowSet(256, plainRecord())), kFlowNowMs + 1);
    REQUIRE(received.records.size() == 1);
    const std::uint64_t nowMs = kFlowNowMs + 60'000;
    const auto seconds = static_cast<std::uint32_t>(nowMs / 1000);
    received.feed(ipfix({.number = sequence, .seconds = seconds}, options + init(kBegan + systemInitMs)), nowMs);
    received.feed(ipfix({.number = sequence + 1, .seconds = seconds}, flowSet(256, plainRecord())), nowMs + 1);
    const std::size_t old = received.records.size() - 1;
    // Its new templates hold.
    received.feed(ipfix({.number = sequence + 2, .seconds = seconds}, ipfixTemplate(256, kPlainFields)), nowMs + 2);
    received.feed(ipfix({.number = sequence + 2, .seconds = seconds}, flowSet(256, plainRecord())), nowMs + 3);
    CHECK(received.records.size() == 3);
    return old;
  };
  CHECK(countsAfter(0, 89'000'000) == 0);
  // Either alone is no restart: data goes on with what is known.
  CHECK(countsAfter(0, 0) == 1);
  CHECK(countsAfter(0, 5000) == 1);
  CHECK(countsAfter(500'002, 89'000'000) == 1);
}

TEST_CASE("ports of one process are known by its sequence, which goes on") {
  Received received;
  const auto feed = [&](std::uint16_t port, std::uint32_t sequence, const Bytes& sets) {
    received.feed(netflow9({.number = sequence}, sets), kFlowNowMs, port);
    return received.records.size();
  };
  const Bytes data = flowSet(256, plainRecord());
  CHECK(feed(5001, 100, netflow9Template(256, kPlainFields)) == 0);
  CHECK(feed(5002, 101, data) == 1);
  CHECK(feed(5003, 103, data) == 2);
  // A datagram that the network reordered.
  CHECK(feed(5002, 102, data) == 3);
  CHECK(received.status().domains == 1);
  // Others, by a number of their own: their templates are not known.
  CHECK(feed(5004, 1, data) == 3);
  CHECK(feed(5005, 5000, data) == 3);
  CHECK(received.status().domains == 3);
  CHECK(received.status().counts.lostDatagrams == 0);
}

TEST_CASE("tunnels in records: the inner packet, and the one around it, in the order of the layers") {
  const auto only = [](const Fields& fields, const Bytes& values) {
    Received received;
    received.feed(ipfix({}, ipfixTemplate(256, fields) + flowSet(256, values)));
    REQUIRE(received.records.size() == 1);
    return received.records[0];
  };
  const Bytes four = words({kForeign, kProtected}), six = bytesOf(ipv6(1, 1)) + bytesOf(ipv6(2, 1));
  // SRv6: the protocol of each layer.
  const FlowRecord srv6 = only({{27, 16}, {28, 16}, {4, 1}, {8, 4}, {12, 4}, {4, 1}, {11, 2}, {2, 2}},
                               six + number(4, 1) + four + number(17, 1) + number(53, 2) + number(1, 2));
  CHECK(srv6.packet.destination == ipv4(kProtected));
  CHECK(srv6.packet.destinationPort == 53);
  CHECK(srv6.outerBytes == 16);
  CHECK(srv6.outerProtocol == 4);
  // Addresses of one family twice, ports too.
  const FlowRecord twice =
      only({{8, 4}, {12, 4}, {4, 1}, {11, 2}, {8, 4}, {12, 4}, {4, 1}, {11, 2}, {2, 2}},
           words({7, 8}) + number(17, 1) + number(4789, 2) + four + number(6, 1) + number(80, 2) + number(1, 2));
  CHECK(twice.packet.destination == ipv4(kProtected));
  CHECK(twice.packet.protocol == 6);
  CHECK(twice.packet.destinationPort == 80);
  CHECK(twice.outerBytes == 4);
  // VMware's tenant, and one that is not in a tunnel.
  constexpr std::uint32_t kVmware = 6876;
  const Fields tenant = {{8, 4}, {12, 4}, {4, 1}, {881, 4, kVmware}, {882, 4, kVmware}, {880, 1, kVmware}, {2, 2}};
  CHECK(only(tenant, words({7, 8}) + number(17, 1) + four + number(6, 1) + number(1, 2)).packet.destination ==
        ipv4(kProtected));
  const FlowRecord plain = only(tenant, four + number(17, 1) + words({0, 0}) + number(0, 1) + number(1, 2));
  CHECK(plain.packet.destination == ipv4(kProtected));
  CHECK(plain.packet.protocol == 17);
  CHECK(plain.outerBytes == 0);
}

TEST_CASE("late records: an exporter all of whose times are off counts when its records come, another does not") {
  const Fields fields = withFlow({{2, 4}, {1, 4}, {22, 4}, {21, 4}});
  const auto feed = [&](Judged& judged, std::uint32_t sequence, std::uint32_t records, std::uint32_t endMs) {
    Bytes all;
    for (std::uint32_t i = 0; i < records; i++) append(all, flowOf(1, words({10, 1000, endMs - 500, endMs})));
    judged.feed(netflow9({.number = sequence}, netflow9Template(256, fields) + flowSet(256, all)));
  };
  Judged off;
  feed(off, 0, 2, kUptimeMs - 1000);
  feed(off, 1, 14, kUptimeMs - 900'000);
  CHECK(off.records.size() == 16);
  CHECK(off.status().countedLate == 14);
  Judged right;
  feed(right, 0, 30, kUptimeMs - 1000);
  feed(right, 1, 14, kUptimeMs - 900'000);
  CHECK(right.records.size() == 30);
  CHECK(right.leftOut(LeftOut::late) == 14);
}

TEST_CASE("not for us: records of layer 2 and frames that are not IP are counted apart, and are no fault") {
  Received received;
  const Fields layer2 = {{56, 6}, {80, 6}, {256, 2}, {2, 4}, {1, 4}}, source = {{8, 4}, {2, 4}};
  const Bytes record = Bytes(12) + number(0x0806, 2) + words({3, 180});
  received.feed(ipfix({}, ipfixTemplate(300, layer2) + ipfixTemplate(301, source) + flowSet(300, record + record) +
                              flowSet(301, words({7, 1}))));
  CHECK(received.status().counts.notForUs.at(static_cast<std::size_t>(NotForUs::layer2Record)) == 2);
  CHECK(received.undecoded() == "template 301 of domain 0 has no field 12 or 28 (destination address) x1");
  const auto variable = [](const Bytes& bytes) { return number(bytes.size(), 1) + bytes; };
  Received frames;
  frames.feed(ipfix({}, ipfixTemplate(256, {{315, 65535}}) +
                            flowSet(256, variable(ethernet(0x0806) + Bytes(28)) +
                                             variable(ethernet(0x8847) + Bytes{0, 1, 1, 64, 0x45} + Bytes(40)))));
  CHECK(frames.undecoded() == "");
  CHECK(frames.status().counts.notForUs.at(static_cast<std::size_t>(NotForUs::notIpFrame)) == 1);
  CHECK(frames.status().counts.notForUs.at(static_cast<std::size_t>(NotForUs::encapsulatedFrame)) == 1);
}
