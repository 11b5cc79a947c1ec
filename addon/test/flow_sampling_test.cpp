#include <doctest/doctest.h>

#include <bit>

#include "flow/flow_bounds.h"
#include "flow_messages.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

/// The rate of one record after these options, in IPFIX: scopes and fields, and one record of them.
std::uint32_t rateAfter(const Fields& fields, const Bytes& options, const Fields& scopes = {{149, 4}}) {
  Received received;
  received.feed(ipfix({}, ipfixOptions(300, scopes, fields) + flowSet(300, words({0}) + options) +
                              ipfixTemplate(256, kPlainFields) + flowSet(256, plainRecord())));
  REQUIRE(received.records.size() == 1);
  CHECK(received.undecoded() == "");
  return received.records[0].samplingRate;
}

/// Plain records that name a sampler (field 48) and an input interface.
Fields sampledFields() {
  Fields fields = kPlainFields;
  fields.push_back({48, 1});
  fields.push_back({10, 4});
  return fields;
}
Bytes sampledRecord(std::uint8_t sampler, std::uint32_t input) {
  return plainRecord() + number(sampler, 1) + words({input});
}

}  // namespace

TEST_CASE("flow sampling: every way in which options report the rate of a domain") {
  CHECK(rateAfter({{34, 4}, {35, 1}}, words({1000}) + number(2, 1)) == 1000);
  CHECK(rateAfter({{50, 4}}, words({512})) == 512);
  CHECK(rateAfter({{304, 2}, {305, 4}, {306, 4}}, number(1, 2) + words({1, 99})) == 100);
  CHECK(rateAfter({{304, 2}, {305, 4}, {306, 4}}, number(1, 2) + words({1, 0})) == 1);
  CHECK(rateAfter({{305, 4}, {306, 4}}, words({10, 20})) == 3);
  // By time, in microseconds: all packets of 10 ms, then none of 990 ms.
  CHECK(rateAfter({{304, 2}, {307, 4}, {308, 4}}, number(2, 2) + words({10'000, 990'000})) == 100);
  CHECK(rateAfter({{309, 4}, {310, 4}}, words({1, 256})) == 256);
  CHECK(rateAfter({{311, 8}}, number(std::bit_cast<std::uint64_t>(0.001), 8)) == 1000);
  CHECK(rateAfter({{311, 4}}, number(std::bit_cast<std::uint32_t>(0.125F), 4)) == 8);
  // Cisco IOS XR: the interval alone; or 1 beside size and population.
  CHECK(rateAfter({{305, 4}, {304, 2}}, words({1000}) + number(3, 2)) == 1000);
  CHECK(rateAfter({{305, 4}, {309, 4}, {310, 4}}, words({1, 1, 1000})) == 1000);
  CHECK(rateAfter({{305, 4}, {306, 4}, {309, 4}, {310, 4}}, words({1, 99, 0, 0})) == 100);
  CHECK(rateAfter({{34, 4}, {305, 4}}, words({500, 1})) == 500);
  // A limit of confidence is no rate.
  CHECK(rateAfter({{336, 8}}, number(std::bit_cast<std::uint64_t>(1000.0), 8)) == 0);
}

TEST_CASE("flow sampling: a rate that cannot be is not said, one in little endian is read so") {
  CHECK(rateAfter({{34, 4}}, words({1U << 20})) == 1U << 20);
  CHECK(rateAfter({{34, 4}}, words({0xe8030000})) == 1000);
  CHECK(rateAfter({{34, 4}}, words({0xffffffff})) == 0);
  CHECK(rateAfter({{305, 4}, {306, 4}}, words({1, 1U << 20})) == 0);
  CHECK(rateAfter({{311, 8}}, number(std::bit_cast<std::uint64_t>(1e-9), 8)) == 0);
  CHECK(rateAfter({{309, 4}, {310, 4}}, words({1000, 1})) == 0);
  Fields fields = kPlainFields;
  fields.push_back({34, 4});
  const std::uint32_t said[] = {1000, 0xe8030000, 0x00020000, 100'000, 0xffffffff};
  const std::uint32_t meant[] = {1000, 1000, 512, 100'000, 100'000};
  Bytes records;
  for (const std::uint32_t rate : said) append(records, plainRecord() + words({rate}));
  Received received;
  received.feed(netflow9({}, netflow9Template(256, fields) + flowSet(256, records)));
  REQUIRE(received.records.size() == std::size(meant));
  for (std::size_t i = 0; i < std::size(meant); i++) CHECK(received.records[i].samplingRate == meant[i]);
  CHECK(received.status().counts.impossibleRates == 1);
}

TEST_CASE("flow sampling: an interval of 0 without an algorithm is no sampling, with one it is not known") {
  CHECK(rateAfter({{34, 4}, {35, 1}}, words({0}) + number(0, 1)) == 1);
  CHECK(rateAfter({{34, 4}, {35, 1}}, words({0}) + number(2, 1)) == 0);
  CHECK(rateAfter({{49, 1}, {50, 4}}, number(0, 1) + words({0})) == 1);
  CHECK(rateAfter({{49, 1}, {50, 4}}, number(2, 1) + words({0})) == 0);
  CHECK(rateAfter({{311, 8}}, number(std::bit_cast<std::uint64_t>(-1.0), 8)) == 0);
  CHECK(rateAfter({{305, 4}, {306, 4}}, words({0, 100})) == 0);
  CHECK(rateAfter({{307, 4}, {308, 4}}, words({0, 100})) == 0);
}

TEST_CASE("flow sampling: by sampler, with Cisco's options of NetFlow v9") {
  Received received;
  const Bytes options = netflow9Options(257, {{1, 0}}, {{48, 2}, {50, 4}, {49, 1}, {84, 8}});
  const auto sampler = [](std::uint16_t id, std::uint32_t rate) {
    return number(id, 2) + words({rate}) + number(2, 1) + text("SAMPLER", 8);
  };
  received.feed(netflow9({}, options + flowSet(257, sampler(1, 1000) + sampler(2, 4000)) +
                                 netflow9Template(256, sampledFields()) +
                                 flowSet(256, sampledRecord(1, 7) + sampledRecord(2, 7) + sampledRecord(3, 7))));
  REQUIRE(received.records.size() == 3);
  CHECK(received.records[0].samplingRate == 1000);
  CHECK(received.records[1].samplingRate == 4000);
  CHECK(received.records[2].samplingRate == 0);
  CHECK(received.status().counts.unknownRateRecords == 1);
  CHECK(received.status().samplings.size() == 3);
}

TEST_CASE("flow sampling: records that name no sampler have the rate of all of their domain, if it is one") {
  Received received;
  const Bytes templates = ipfixOptions(300, {{302, 4}}, {{309, 4}, {310, 4}}) + ipfixTemplate(256, kPlainFields);
  received.feed(ipfix({}, templates + flowSet(300, words({1, 1, 64, 2, 1, 64})) + flowSet(256, plainRecord())));
  CHECK(received.records[0].samplingRate == 64);
  received.feed(ipfix({.number = 3}, flowSet(300, words({2, 1, 128})) + flowSet(256, plainRecord())));
  CHECK(received.records[1].samplingRate == 0);
  // Each selector by itself, as an exporter reports a change of all.
  const auto rateAfter = [&](std::uint32_t number, const Bytes& options) {
    received.feed(ipfix({.number = number}, flowSet(300, options) + flowSet(256, plainRecord())));
    return received.records.back().samplingRate;
  };
  CHECK(rateAfter(5, words({1, 1, 128})) == 128);
  CHECK(rateAfter(7, words({1, 1, 256})) == 0);
  CHECK(rateAfter(9, words({2, 1, 256})) == 256);
  CHECK(rateAfter(11, words({2, 1, 256})) == 256);
}

TEST_CASE("flow sampling: by selector, by interface and by template, the nearest holds") {
  Received received;
  Fields selected = kPlainFields;
  selected.push_back({302, 8});
  selected.push_back({10, 4});
  const Bytes options = ipfixOptions(300, {{302, 8}}, {{305, 4}, {306, 4}}) + ipfixOptions(301, {{10, 4}}, {{34, 4}}) +
                        ipfixOptions(302, {{145, 2}}, {{34, 4}}) + ipfixOptions(303, {{149, 4}}, {{34, 4}});
  const Bytes rates = flowSet(300, number(5, 8) + words({1, 9})) + flowSet(301, words({7, 20})) +
                      flowSet(302, number(256, 2) + words({30})) + flowSet(303, words({0, 40}));
  const auto record = [](std::uint64_t selector, std::uint32_t input) {
    return plainRecord() + number(selector, 8) + words({input});
  };
  const Bytes records = record(5, 7) + record(6, 7) + record(6, 8);
  received.feed(ipfix({}, options + rates + ipfixTemplate(256, selected) + ipfixTemplate(257, selected) +
                              flowSet(256, records) + flowSet(257, records)));
  REQUIRE(received.records.size() == 6);
  const std::uint32_t expected[] = {10, 20, 30, 10, 20, 40};
  for (std::size_t i = 0; i < 6; i++) CHECK(received.records[i].samplingRate == expected[i]);
}

TEST_CASE("flow sampling: a record's own rate comes first, and 0 in it falls back to the options") {
  Received received;
  Fields fields = kPlainFields;
  fields.push_back({34, 4});
  received.feed(ipfix({}, ipfixOptions(300, {{149, 4}}, {{34, 4}}) + flowSet(300, words({0, 77})) +
                              ipfixTemplate(256, fields) +
                              flowSet(256, plainRecord() + words({10}) + plainRecord() + words({0}))));
  CHECK(received.records[0].samplingRate == 10);
  CHECK(received.records[1].samplingRate == 77);
}

TEST_CASE("flow sampling: a change holds for what is decoded from then on, in its own domain") {
  Received received;
  const Bytes templates = ipfixOptions(300, {{149, 4}}, {{34, 4}}) + ipfixTemplate(256, kPlainFields);
  const auto message = [&](std::uint32_t domain, const Bytes& sets) { return ipfix({.domain = domain}, sets); };
  const Bytes record = flowSet(256, plainRecord());
  received.feed(
      message(1, templates + record + flowSet(300, words({0, 100})) + record + flowSet(300, words({0, 200})) + record));
  received.feed(message(2, templates + record));
  const std::uint32_t expected[] = {0, 100, 200, 0};
  REQUIRE(received.records.size() == 4);
  for (std::size_t i = 0; i < 4; i++) CHECK(received.records[i].samplingRate == expected[i]);
}

TEST_CASE("flow sampling: samplers that only domain 0 reports hold for its line cards") {
  Received received;
  received.feed(netflow9({}, netflow9Options(257, {{1, 4}}, {{48, 1}, {34, 4}}) +
                                 flowSet(257, words({0}) + number(1, 1) + words({2000}))));
  received.feed(netflow9({.domain = 9}, netflow9Template(256, sampledFields()) + flowSet(256, sampledRecord(1, 7))));
  CHECK(received.records[0].samplingRate == 2000);
}

TEST_CASE("flow sampling: domain 0 reports rates of all domains, of one by its number, and of interfaces") {
  Received received;
  Fields fields = kPlainFields;
  fields.push_back({10, 4});
  const Bytes options = ipfixOptions(300, {{144, 4}}, {{305, 4}, {306, 4}}) + ipfixOptions(301, {{149, 4}}, {{34, 4}}) +
                        ipfixOptions(302, {{10, 4}}, {{34, 4}});
  received.feed(ipfix({}, options + flowSet(300, words({1, 1, 999})) + flowSet(301, words({5, 200, 6, 300})) +
                              flowSet(302, words({7, 400}))));
  const auto rateIn = [&](std::uint32_t domain, std::uint32_t input) {
    received.feed(ipfix({.domain = domain}, ipfixTemplate(256, fields) + flowSet(256, plainRecord() + words({input}))));
    return received.records.back().samplingRate;
  };
  CHECK(rateIn(5, 1) == 200);
  CHECK(rateIn(6, 2) == 300);
  CHECK(rateIn(4, 3) == 1000);
  CHECK(rateIn(4, 7) == 400);
  // A record that passed none of the samplers of its own domain.
  fields.push_back({48, 1});
  received.feed(ipfix({.domain = 3}, ipfixOptions(300, {{48, 1}}, {{50, 4}}) +
                                         flowSet(300, number(1, 1) + words({64})) + ipfixTemplate(256, fields) +
                                         flowSet(256, plainRecord() + words({7}) + number(0, 1))));
  CHECK(received.records.back().samplingRate == 1);
}

TEST_CASE("flow sampling: what left by an interface has the rate of that interface") {
  Received received;
  Fields fields = kPlainFields;
  fields.insert(fields.end(), {{10, 4}, {14, 4}, {61, 1}});
  const auto record = [](std::uint8_t direction) { return plainRecord() + words({1, 2}) + number(direction, 1); };
  received.feed(netflow9({}, netflow9Options(300, {{2, 4}}, {{34, 4}}) + flowSet(300, words({1, 100, 2, 200})) +
                                 netflow9Template(256, fields) + flowSet(256, record(0) + record(1))));
  REQUIRE(received.records.size() == 2);
  CHECK(received.records[0].samplingRate == 100);
  CHECK(received.records[1].samplingRate == 200);
}

TEST_CASE("flow sampling: rates are bounded in number, and those in use stay") {
  const Fields fields = {{12, 4}, {2, 4}, {302, 4}};
  Received received;
  received.feed(ipfix({}, ipfixOptions(300, {{302, 4}}, {{34, 4}}) + ipfixTemplate(256, fields) +
                              flowSet(300, words({7, 512})) + flowSet(256, words({kProtected, 10, 7}))));
  std::uint32_t sequence = 2;
  for (std::uint32_t i = 0; i < 3 * kSamplingsMax; i++) {
    received.feed(ipfix({.number = sequence++, .domain = 1},
                        ipfixOptions(300, {{302, 4}}, {{34, 4}}) + flowSet(300, words({1000 + i, 100}))),
                  kFlowNowMs, 4000);
  }
  CHECK(received.status().samplings.size() == kSamplingsShownMax);
  CHECK(received.status().memoryBytes < 4 << 20);
  received.feed(ipfix({.number = 2}, flowSet(256, words({kProtected, 10, 7}))));
  REQUIRE(received.records.size() == 2);
  CHECK(received.records[1].samplingRate == 512);
  // One that is new finds room too.
  received.feed(ipfix({.number = 3}, flowSet(300, words({8, 256})) + flowSet(256, words({kProtected, 10, 8}))));
  REQUIRE(received.records.size() == 3);
  CHECK(received.records[2].samplingRate == 256);
}

TEST_CASE("flow interfaces: names from options of both protocols, and changes of them") {
  Received received;
  received.feed(netflow9({}, netflow9Options(256, {{1, 4}}, {{10, 4}, {83, 16}}) +
                                 flowSet(256, words({1, 7}) + text("TenGigE0/0/0", 16))));
  CHECK(received.exporter.interfaceName(7) == "TenGigE0/0/0");
  CHECK(received.exporter.interfaceName(8) == "");
  const std::uint32_t version = received.exporter.interfaceNamesVersion();
  received.feed(netflow9({.number = 1}, netflow9Options(257, {{2, 4}}, {{82, 8}, {83, 8}}) +
                                            flowSet(257, words({8}) + text("xe-0\n", 8) + text("uplink", 8))));
  CHECK(received.exporter.interfaceName(8) == "xe-0?");
  received.feed(ipfix(
      {}, ipfixOptions(256, {{10, 4}}, {{82, 65535}}) + flowSet(256, words({7}) + number(4, 1) + text("et-1", 4))));
  CHECK(received.exporter.interfaceName(7) == "et-1");
  CHECK(received.exporter.interfaceNamesVersion() == version + 2);
  CHECK(received.status().interfaces.size() == 2);
  // A sampler's name is no interface's.
  received.feed(netflow9({.number = 2}, netflow9Options(258, {{1, 0}}, {{48, 1}, {82, 8}}) +
                                            flowSet(258, number(3, 1) + text("sampler", 8))));
  CHECK(received.status().interfaces.size() == 2);
}

TEST_CASE("flow interfaces: names are bounded in number and length, and those that were used stay") {
  Received received;
  received.feed(ipfix({}, ipfixOptions(256, {{10, 4}}, {{82, 80}}) + flowSet(256, words({1}) + Bytes(80, 'x'))));
  CHECK(received.exporter.interfaceName(1).size() == kInterfaceNameBytesMax);
  for (std::uint32_t i = 2; i <= 2 * kInterfaceNamesMax; i++) {
    received.feed(ipfix({.number = i}, flowSet(256, words({i}) + Bytes(80, 'x'))));
    if (i == kInterfaceNamesMax) CHECK(received.status().interfaces.size() == kInterfaceNamesMax);
    // A status has all of them: at the bound each is looked at, above it some.
    const bool isLookedAt = i % 64 == 0 || (i > kInterfaceNamesMax && i <= kInterfaceNamesMax + 8);
    if (isLookedAt) REQUIRE(received.status().interfaces.size() <= kInterfaceNamesMax);
  }
  CHECK(received.exporter.interfaceName(1) != "");
  CHECK(received.exporter.interfaceName(2 * kInterfaceNamesMax) != "");
  CHECK(received.exporter.interfaceName(2) == "");
}

TEST_CASE("flow sampling: records that name sampler 0, where options have others, passed none") {
  Received received;
  const Bytes options = netflow9Options(257, {{1, 0}}, {{48, 2}, {50, 4}});
  const Bytes records = netflow9Template(256, sampledFields()) + flowSet(256, sampledRecord(0, 7));
  received.feed(netflow9({}, records))
      .feed(netflow9({.number = 1}, options + flowSet(257, number(1, 2) + words({1000})) + records));
  CHECK(received.records[0].samplingRate == 0);
  CHECK(received.records[1].samplingRate == 1);
}

TEST_CASE("flow sampling: processes behind one address have each their rate, and another's where they say none") {
  Received received;
  const Bytes options = ipfixOptions(300, {{149, 4}}, {{34, 4}});
  const Bytes records = ipfixTemplate(256, kPlainFields) + flowSet(256, plainRecord());
  received.feed(ipfix({}, options + flowSet(300, words({0, 100}))), kFlowNowMs, 1);
  received.feed(ipfix({}, options + flowSet(300, words({0, 200}))), kFlowNowMs, 2);
  for (std::uint16_t port = 1; port <= 3; port++) received.feed(ipfix({.number = 1}, records), kFlowNowMs, port);
  const std::uint32_t expected[] = {100, 200, 200};
  REQUIRE(received.records.size() == 3);
  for (std::size_t i = 0; i < 3; i++) CHECK(received.records[i].samplingRate == expected[i]);
}

TEST_CASE("flow sampling: line cards and metering processes of one domain have each their rate") {
  const auto ratesOf = [](const Bytes& options, std::uint32_t scope, const Fields& more,
                          std::initializer_list<Bytes> named) {
    Fields fields = kPlainFields;
    fields.insert(fields.end(), more.begin(), more.end());
    Bytes records;
    for (const Bytes& part : named) append(records, plainRecord() + part);
    Received received;
    received.feed(netflow9(
        {}, options + flowSet(300, words({1, 1000, 2, 4000})) + netflow9Template(256, fields) + flowSet(256, records)));
    received.feed(ipfix({}, ipfixOptions(300, {{static_cast<std::uint16_t>(scope), 4}}, {{34, 4}}) +
                                flowSet(300, words({1, 1000, 2, 4000})) + ipfixTemplate(256, fields) +
                                flowSet(256, records)));
    std::vector<std::uint32_t> rates;
    for (const FlowRecord& record : received.records) rates.push_back(record.samplingRate);
    return rates;
  };
  using Rates = std::vector<std::uint32_t>;
  // Of NetFlow v9 the scope is 3 (RFC 3954, 6.1); records name the card by 141, or as their engine.
  const Bytes byCard = netflow9Options(300, {{3, 4}}, {{34, 4}});
  const Bytes one = number(1, 1), two = number(2, 1), three = number(3, 1);
  CHECK(ratesOf(byCard, 141, {{39, 1}}, {one, two, three}) == Rates{1000, 4000, 1000, 1000, 4000, 1000});
  CHECK(ratesOf(byCard, 141, {}, {{}}) == Rates{1000, 1000});
  CHECK(ratesOf(netflow9Options(300, {{1, 0}}, {{143, 4}, {34, 4}}), 143, {{143, 1}}, {two}) == Rates{4000, 4000});
}

TEST_CASE("flow sampling: an options template of another scope takes back what it said before") {
  Received received;
  Fields fields = kPlainFields;
  fields.push_back({10, 4});
  const Bytes records = flowSet(256, plainRecord() + words({7}));
  std::uint32_t number = 0;
  std::uint64_t nowMs = kFlowNowMs;
  const auto rateAfter = [&](const Bytes& sets) {
    received.feed(ipfix({.number = number++}, sets + records), nowMs += 1000);
    return received.records.back().samplingRate;
  };
  const Bytes interfaces = ipfixOptions(300, {{10, 4}}, {{34, 4}}), domain = ipfixOptions(300, {{149, 4}}, {{34, 4}});
  CHECK(rateAfter(ipfixTemplate(256, fields) + interfaces + flowSet(300, words({7, 100}))) == 100);
  // Until it says something, what it said holds; then also for other ports.
  CHECK(rateAfter(domain) == 100);
  CHECK(rateAfter(flowSet(300, words({0, 200}))) == 200);
  CHECK(rateAfter(interfaces + flowSet(300, words({8, 50}))) == 0);
  // A template that says the same of more is no other.
  CHECK(rateAfter(flowSet(300, words({7, 100}))) == 100);
  CHECK(rateAfter(ipfixOptions(300, {{10, 4}}, {{34, 4}, {35, 1}}) + flowSet(300, words({8, 50}) + Bytes(1, 2))) ==
        100);
}

TEST_CASE("flow sampling: the rate of the whole domain replaces one that was not said for an hour") {
  Received received;
  Fields fields = kPlainFields;
  fields.push_back({10, 4});
  const Bytes options = ipfixOptions(300, {{10, 4}}, {{34, 4}}) + ipfixOptions(301, {{149, 4}}, {{34, 4}});
  const auto rateAfter = [&](std::uint32_t number, const Bytes& sets, std::uint64_t minutes) {
    received.feed(ipfix({.number = number}, sets + flowSet(256, plainRecord() + words({7}))),
                  kFlowNowMs + 60'000 * minutes);
    return received.records.back().samplingRate;
  };
  CHECK(rateAfter(0, options + flowSet(300, words({7, 100})) + ipfixTemplate(256, fields), 0) == 100);
  CHECK(rateAfter(2, flowSet(301, words({0, 200})), 59) == 100);
  CHECK(rateAfter(4, {}, 61) == 100);
  CHECK(rateAfter(5, flowSet(301, words({0, 200})), 61) == 200);
}
