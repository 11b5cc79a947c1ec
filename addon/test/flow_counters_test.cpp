// Which counters of a record count, and for whom.
#include <doctest/doctest.h>

#include "flow_talk.h"

using namespace floodwall;
using namespace floodwall::test;

TEST_CASE("initiator and responder: bytes without headers make no impossible record") {
  Talk talk(withFlow({{298, 4}, {231, 4}, {299, 4}, {232, 4}}));
  // Handshakes and acknowledgements: 298 and 299 count packets, 231 and 232 what is above layer 4.
  talk.record(flowOf(1, words({1000, 2000, 10, 1000})));
  CHECK(countedBy(talk.judged) == std::pair<std::uint64_t, std::uint64_t>{1010, 46'000 + 1000});
}

TEST_CASE("initiator and responder: the destination may be the initiator, and Cisco names both as client and server") {
  const auto countedAt = [](std::uint8_t initiator) {
    Talk talk(withFlow({{239, 1}, {298, 4}, {231, 4}, {299, 4}, {232, 4}}));
    talk.record(flowOf(1, number(initiator, 1) + words({10, 1000, 2000, 2'800'000})));
    return talk.judged.sums().at("10.1.0.1").first;
  };
  CHECK(countedAt(1) == 10);
  CHECK(countedAt(2) == 2000);
  // IOS XE, "connection client" and "connection server", alone and beside the packet of a record.
  constexpr std::uint32_t kCisco = 9;
  const Fields connection = {{12236, 4, kCisco}, {12237, 4, kCisco}, {12241, 2, kCisco}, {4, 1}, {239, 1}, {298, 8},
                             {8338, 8, kCisco},  {299, 8},           {8337, 8, kCisco},  {61, 1}};
  const Bytes values = words({kForeign + 1, kProtected + 1}) + number(53, 2) + number(17, 1) + number(2, 1) +
                       number(2000, 8) + number(80'000, 8) + number(10, 8) + number(1000, 8) + number(1, 1);
  Fields beside = {{8, 4}, {12, 4}, {7, 2}, {11, 2}};
  beside.insert(beside.end(), connection.begin(), connection.end());
  const Bytes packet = words({kProtected + 1, kForeign + 1}) + number(53, 2) + number(4000, 2);
  for (const auto& [fields, record] : {std::pair{connection, values}, std::pair{beside, packet + values}}) {
    Talk talk(fields);
    talk.record(record);
    // Egress (61) leaves none out: no other record reports them.
    REQUIRE(talk.judged.records.size() == 2);
    const FlowRecord& there = talk.judged.records[0];
    CHECK(there.packet.destination == ipv4(kProtected + 1));
    CHECK(there.packet.destinationPort == 53);
    CHECK(there.packets == 2000);
    CHECK(there.bytes == 80'000 + 14 * 2000);
    CHECK(talk.judged.records[1].packet.destination == ipv4(kForeign + 1));
    CHECK(talk.judged.records[1].packets == 10);
  }
}

TEST_CASE("firewall events: an update that comes after the end has nothing new, nor a second end") {
  const auto event = [](std::uint8_t kind, std::uint64_t startMs, std::uint64_t endMs, std::uint32_t bytes) {
    return flowOf(1,
                  number(kind, 1) + number(kFlowNowMs + startMs, 8) + number(kFlowNowMs + endMs, 8) + words({bytes}));
  };
  Talk talk(withFlow({{233, 1}, {152, 8}, {323, 8}, {231, 4}}));
  talk.record(event(5, 0, 60'000, 60'000), kNowSeconds + 60).record(event(2, 0, 120'100, 105'000), kNowSeconds + 121);
  talk.record(event(5, 0, 120'000, 45'000), kNowSeconds + 121);
  talk.record(event(2, 0, 120'100, 105'000), kNowSeconds + 122);
  CHECK(countedBy(talk.judged).second == 105'000);
  // Another of the same key.
  talk.record(event(5, 130'000, 190'000, 7000), kNowSeconds + 190);
  talk.record(event(2, 130'000, 200'000, 9000), kNowSeconds + 200);
  CHECK(countedBy(talk.judged).second == 105'000 + 9000);
}

TEST_CASE("firewall events: the end of a flow without updates counts once, however often it comes") {
  const auto end = [](std::uint16_t port, std::uint64_t startMs, std::uint64_t endMs) {
    return flowOf(port,
                  number(2, 1) + number(kFlowNowMs + startMs, 8) + number(kFlowNowMs + endMs, 8) + words({60'000}));
  };
  Talk talk(withFlow({{233, 1}, {152, 8}, {323, 8}, {231, 4}}));
  talk.record(end(1, 0, 9000), kNowSeconds + 9).record(end(2, 0, 9000), kNowSeconds + 9);
  talk.record(end(1, 0, 9000), kNowSeconds + 10);
  CHECK(countedBy(talk.judged).second == 120'000);
  // Another flow with its key.
  talk.record(end(1, 20'000, 29'000), kNowSeconds + 29);
  CHECK(countedBy(talk.judged).second == 180'000);
}

TEST_CASE("traits: counters are named for what each of a template is") {
  const auto countersOf = [](const Fields& counters) {
    Talk talk(counters);
    return talk.judged.status().flow.traits & 0b111;
  };
  constexpr std::uint32_t kDeltas = 1, kTotals = 2, kEvents = 4;
  CHECK(countersOf({{12, 4}, {2, 4}, {1, 4}, {86, 4}, {85, 4}}) == kDeltas);
  CHECK(countersOf({{12, 4}, {86, 4}, {85, 4}}) == kTotals);
  CHECK(countersOf({{12, 4}, {2, 4}, {85, 4}}) == (kDeltas | kTotals));
  CHECK(countersOf({{12, 4}, {233, 1}, {231, 4}, {232, 4}}) == kEvents);
  CHECK(countersOf({{12, 4}, {298, 4}, {231, 4}, {299, 4}, {232, 4}}) == kDeltas);
}

TEST_CASE("totals: a record that comes late has nothing new, and bytes of 32 bits that wrap are no other flow") {
  const Fields fields = withFlow({{86, 4}, {85, 4}, {152, 8}, {153, 8}});
  const auto record = [](std::uint32_t packets, std::uint32_t bytes, std::uint64_t endMs) {
    return flowOf(1, words({packets, bytes}) + number(kFlowNowMs, 8) + number(kFlowNowMs + endMs, 8));
  };
  Talk late(fields);
  late.record(record(1000, 100'000, 1000), kNowSeconds + 1).record(record(3000, 300'000, 3000), kNowSeconds + 3);
  late.record(record(2000, 200'000, 2000), kNowSeconds + 3).record(record(4000, 400'000, 4000), kNowSeconds + 4);
  CHECK(countedBy(late.judged) == std::pair<std::uint64_t, std::uint64_t>{4000, 400'000});
  Talk wrapped(fields);
  wrapped.record(record(4'000'000, 4'000'000'000, 1000), kNowSeconds + 1);
  wrapped.record(record(5'000'000, 5'000'000'000 - (std::uint64_t{1} << 32), 2000), kNowSeconds + 2);
  CHECK(countedBy(wrapped.judged) == std::pair<std::uint64_t, std::uint64_t>{5'000'000, 5'000'000'000});
}

TEST_CASE("totals: where one counter is of the whole flow and the other is not, each counts as it is") {
  const auto countedOf = [](const Fields& counters,
                            std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> all) {
    Talk talk(withFlow(counters));
    std::uint32_t second = 0;
    for (const auto& [packets, bytes] : all) {
      second++;
      talk.record(flowOf(1, words({packets, bytes}) + number(kFlowNowMs, 8) + number(kFlowNowMs + 1000 * second, 8)),
                  kNowSeconds + second);
    }
    return countedBy(talk.judged);
  };
  CHECK(countedOf({{2, 4}, {85, 4}, {152, 8}, {153, 8}}, {{1000, 100'000}, {900, 190'000}, {1000, 290'000}}) ==
        std::pair<std::uint64_t, std::uint64_t>{2900, 290'000});
  CHECK(countedOf({{86, 4}, {1, 4}, {152, 8}, {153, 8}}, {{1000, 100'000}, {1900, 90'000}, {2900, 100'000}}) ==
        std::pair<std::uint64_t, std::uint64_t>{2900, 290'000});
}

TEST_CASE("counters behind a middlebox are those of the way back where they show that they are") {
  const Fields fields = withFlow({{2, 4}, {1, 4}, {24, 4}, {23, 4}, {10, 4}, {14, 4}, {61, 1}});
  const auto record = [](std::uint32_t packets, std::uint32_t bytes, std::uint32_t outPackets, std::uint32_t outBytes) {
    return flowOf(1, words({packets, bytes, outPackets, outBytes, 7, 8}) + number(0, 1));
  };
  // Requests and long answers, as of Cisco Meraki: learned of three records, for those that come after.
  Talk both(fields);
  for (int i = 0; i < 3; i++) both.record(record(10, 600, 20, 28'000));
  CHECK(countedBy(both.judged) == std::pair<std::uint64_t, std::uint64_t>{30, 1800});
  both.judged.records.clear();
  both.record(record(10, 600, 5, 300)).record(record(0, 0, 4, 240));
  CHECK(both.judged.sums().at("10.1.0.1").first == 10);
  CHECK(countedBy(both.judged).first == 19);
  CHECK(both.judged.records[1].input == 8);
  // The same packets, fragmented or in a tunnel; and copies of a multicast packet.
  Talk same(fields);
  for (int i = 0; i < 9; i++) same.record(record(10, 600, 10, 1600)).record(record(10, 14'000, 20, 14'200));
  CHECK(same.judged.records.size() == 18);
  Talk copies(fields);
  const Bytes group = words({kForeign + 1, 0xe0000105}) + number(1, 2) + number(53, 2) + number(17, 1);
  for (int i = 0; i < 9; i++) copies.record(group + words({10, 600, 200, 12'000, 7, 8}) + number(0, 1));
  CHECK(copies.judged.records.size() == 9);
}

TEST_CASE("records that have bytes of layer 3 beside none of layer 2 count these") {
  Talk talk(withFlow({{2, 4}, {1, 4}, {352, 4}}));
  talk.record(flowOf(1, words({10, 5000, 0}))).record(flowOf(1, words({10, 5000, 5140})));
  CHECK(countedBy(talk.judged) == std::pair<std::uint64_t, std::uint64_t>{20, 10'000});
}

TEST_CASE("records of aggregates name no host, and are no records of layer 2") {
  Talk talk({{44, 4}, {45, 4}, {9, 1}, {13, 1}, {2, 4}, {1, 4}});
  talk.record(words({kForeign, kProtected}) + number(24, 1) + number(24, 1) + words({10, 1000}));
  CHECK(talk.judged.undecoded() == 1);
  CHECK(talk.judged.status().flow.counts.notForUs[static_cast<std::size_t>(NotForUs::layer2Record)] == 0);
}
