#include <doctest/doctest.h>

#include "flow/flow_bounds.h"
#include "flow_messages.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

/// A message of each protocol with the same template and the same records.
Bytes plain(bool isIpfix, std::uint32_t sequence, const Bytes& records, bool hasTemplate = true) {
  Bytes sets;
  if (hasTemplate) sets = isIpfix ? ipfixTemplate(256, kPlainFields) : netflow9Template(256, kPlainFields);
  sets = sets + flowSet(256, records);
  return isIpfix ? ipfix({.number = sequence}, sets) : netflow9({.number = sequence}, sets);
}

}  // namespace

TEST_CASE("flow templates: both protocols decode the records of a template, and padding is no record") {
  for (const bool isIpfix : {false, true}) {
    CAPTURE(isIpfix);
    Received received;
    received.feed(plain(isIpfix, 0, plainRecord() + plainRecord({.destination = kProtected + 2}) + Bytes(3, 0)));
    REQUIRE(received.records.size() == 2);
    CHECK(received.undecoded() == "");
    const FlowRecord& record = received.records[0];
    CHECK(record.packet.source == ipv4(kForeign + 1));
    CHECK(record.packet.destination == ipv4(kProtected + 1));
    CHECK(record.packet.sourcePort == 4000);
    CHECK(record.packet.destinationPort == 53);
    CHECK(record.packet.transport == Class::udp);
    CHECK(record.packets == 10);
    CHECK(record.bytes == 1000 + 10 * 14);
    CHECK(record.packet.wire == 114);
    CHECK(record.samplingRate == 0);
    CHECK(received.records[1].packet.destination == ipv4(kProtected + 2));
  }
}

TEST_CASE("flow templates: numbers of any length up to eight bytes, and fields of no length") {
  Received received;
  const Fields fields = {{12, 4}, {0, 0}, {4, 1}, {2, 1}, {1, 3}, {10, 2}, {14, 8}, {16, 5}, {0, 0}};
  received.feed(
      netflow9({}, netflow9Template(300, fields) +
                       flowSet(300, words({kProtected}) + number(6, 1) + number(200, 1) + number(0x010203, 3) +
                                        number(513, 2) + number(7, 8) + number(64500, 5))));
  REQUIRE(received.records.size() == 1);
  const FlowRecord& record = received.records[0];
  CHECK(record.packets == 200);
  CHECK(record.bytes == 0x010203 + 200 * 14);
  CHECK(record.input == 513);
  CHECK(record.output == 7);
  CHECK(record.sourceAs == 64500);
  CHECK(record.packet.source == Address{});
}

TEST_CASE("flow templates: fields of variable length, long and short, and of enterprises are stepped over") {
  Received received;
  const Fields fields = {{12, 4}, {130, 65535, 5951}, {2, 4}, {82, 65535}, {8, 4, 9}, {1, 65535}, {8, 4}};
  Bytes longText = number(255, 1) + number(300, 2);
  longText.resize(longText.size() + 300, 'x');
  const auto record = [&](std::uint32_t host, const Bytes& variable) {
    return words({host}) + variable + words({2}) + number(3, 1) + text("abc", 3) + words({0x01020304}) + number(2, 1) +
           number(500, 2) + words({kForeign});
  };
  received.feed(
      ipfix({}, ipfixTemplate(256, fields) +
                    flowSet(256, record(kProtected, longText) + record(kProtected + 1, number(0, 1)) + Bytes(3))));
  REQUIRE(received.records.size() == 2);
  CHECK(received.undecoded() == "");
  CHECK(received.records[0].packet.destination == ipv4(kProtected));
  CHECK(received.records[1].packet.destination == ipv4(kProtected + 1));
  for (const FlowRecord& made : received.records) {
    CHECK(made.packets == 2);
    CHECK(made.bytes == 528);
    CHECK(made.packet.source == ipv4(kForeign));
  }
}

TEST_CASE("flow templates: a record of variable length that goes on beyond its set is counted with its template") {
  Received received;
  const Fields fields = {{12, 4}, {2, 1}, {82, 65535}};
  received.feed(ipfix({}, ipfixTemplate(256, fields) +
                              flowSet(256, words({kProtected}) + number(9, 1) + number(200, 1) + text("abc", 3))));
  CHECK(received.records.empty());
  CHECK(received.undecoded() == "record of set or sample 256 of domain 0 ends after 9 bytes x1");
}

TEST_CASE("flow templates: another definition of a number holds for what follows, the same changes nothing") {
  Received received;
  received.feed(plain(true, 0, plainRecord()));
  received.feed(plain(true, 1, plainRecord()));
  CHECK(received.status().counts.templateChanges == 0);
  const Fields other = {{2, 1}, {12, 4}, {1, 2}};
  const Bytes record = number(4, 1) + words({kProtected + 9}) + number(400, 2);
  received.feed(ipfix({.number = 2}, ipfixTemplate(256, other) + flowSet(256, record)));
  REQUIRE(received.records.size() == 3);
  CHECK(received.records[2].packet.destination == ipv4(kProtected + 9));
  CHECK(received.records[2].bytes == 456);
  CHECK(received.status().counts.templateChanges == 1);
  CHECK(received.status().templates == 1);
}

TEST_CASE("flow templates: each domain and each protocol has its own") {
  Received received;
  received.feed(ipfix({.domain = 1}, ipfixTemplate(256, kPlainFields)));
  received.feed(ipfix({.domain = 2}, flowSet(256, plainRecord())));
  received.feed(netflow9({.domain = 1}, flowSet(256, plainRecord())));
  CHECK(received.records.empty());
  CHECK(received.status().counts.keptSets == 2);
  received.feed(ipfix({.domain = 1}, flowSet(256, plainRecord())));
  CHECK(received.records.size() == 1);
}

TEST_CASE("flow templates: withdrawals, of one and of all of a kind, are ignored over UDP") {
  Received received;
  const Bytes options = ipfixOptions(300, {{149, 4}}, {{34, 4}});
  received.feed(ipfix({}, ipfixTemplate(256, kPlainFields) + ipfixTemplate(257, kPlainFields) + options));
  received.feed(ipfix({}, flowSet(2, number(257, 2) + number(0, 2))));
  received.feed(ipfix({}, flowSet(2, number(2, 2) + number(0, 2))));
  received.feed(ipfix({}, flowSet(3, number(3, 2) + number(0, 2))));
  CHECK(received.status().templates == 3);
  CHECK(received.undecoded() == "");
  received.feed(ipfix({}, flowSet(257, plainRecord())));
  CHECK(received.records.size() == 1);
}

TEST_CASE("flow templates: data before its template waits for it, older by as long as it waited") {
  Received received;
  received.feed(plain(false, 0, plainRecord(), false), kFlowNowMs);
  CHECK(received.records.empty());
  CHECK(received.status().waitingBytes > 0);
  received.feed(plain(false, 1, plainRecord()), kFlowNowMs + 3000);
  REQUIRE(received.records.size() == 2);
  CHECK(received.records[0].ageMs == 3000);
  CHECK(received.records[1].ageMs == 0);
  CHECK(received.status().waitingBytes == 0);
  CHECK(received.status().counts.recoveredSets == 1);
  CHECK(received.undecoded() == "");
}

TEST_CASE("flow templates: data waits for a moment, in bounded memory, and what is given up is counted by template") {
  Received received;
  received.feed(plain(false, 0, plainRecord(), false), kFlowNowMs);
  received.feed(netflow9({.number = 1}, netflow9Template(400, kPlainFields)), kFlowNowMs + kWaitingMs + 1);
  CHECK(received.status().waitingBytes == 0);
  CHECK(received.undecoded() == "template 256 of domain 0 unknown x1");
  Received flood;
  Bytes records;
  for (int i = 0; i < 60; i++) append(records, plainRecord());
  for (std::uint32_t i = 0; i < 100; i++) flood.feed(plain(false, i, records, false), kFlowNowMs);
  CHECK(flood.status().waitingBytes <= kWaitingBytesMax);
  CHECK(flood.status().waitingBytes > kWaitingBytesMax - 2000);
  const auto& counts = flood.status().counts;
  CHECK(flood.undecoded() ==
        "too much data waits for template 256 of domain 0 x" + std::to_string(100 - counts.keptSets));
}

TEST_CASE("flow templates: an address of a length that it cannot have makes its records undecoded, by field") {
  Received received;
  const Fields fields = {{8, 3}, {12, 4}, {2, 4}};
  received.feed(ipfix({}, ipfixTemplate(256, fields) + flowSet(256, Bytes(33, 1))));
  CHECK(received.records.empty());
  CHECK(received.undecoded() == "field 8 of domain 0 has length 3 x3");
  Received without;
  without.feed(ipfix({}, ipfixTemplate(256, {{8, 4}, {2, 4}}) + flowSet(256, Bytes(16, 1))));
  CHECK(without.undecoded() == "template 256 of domain 0 has no field 12 or 28 (destination address) x2");
}

TEST_CASE("flow templates: a template that ends too soon, has no length or too many fields is refused by number") {
  const auto refusal = [](const Bytes& content) { return Received().feed(ipfix({}, flowSet(2, content))).undecoded(); };
  CHECK(refusal(number(256, 2) + number(3, 2) + specifiers({{8, 4}})) ==
        "template 256 of domain 0 has 3 fields and no use x1");
  CHECK(refusal(templateRecord(256, {{0, 0}, {0, 0}})) == "template 256 of domain 0 has 2 fields and no use x1");
  CHECK(refusal(templateRecord(255, {{8, 4}})) == "template 255 of domain 0 has 1 fields and no use x1");
  CHECK(refusal(templateRecord(256, Fields(kTemplateFieldsMax + 1, {8, 4}))) ==
        "template 256 of domain 0 has 257 fields and no use x1");
  CHECK(refusal(templateRecord(256, Fields(kTemplateFieldsMax, {99, 4}))) == "");
  CHECK(refusal(templateRecord(256, {{8, 60000}, {12, 6000}})) ==
        "template 256 of domain 0 has 2 fields and no use x1");
}

TEST_CASE("flow templates: sets whose length lies end the datagram, and trailing zeros are nothing") {
  const Bytes good = netflow9Template(256, kPlainFields) + flowSet(256, plainRecord());
  const auto receivedOf = [&](const Bytes& more) { return Received().feed(netflow9({}, good + more)).undecoded(); };
  CHECK(receivedOf(Bytes(60, 0)) == "");
  CHECK(receivedOf(number(256, 2) + number(3, 2)) == "set or sample 256 of domain 0 has length 3 x1");
  CHECK(receivedOf(number(256, 2) + number(9, 2) + Bytes(4, 1)) == "set or sample 256 of domain 0 has length 9 x1");
  CHECK(receivedOf(flowSet(7, Bytes(4, 1))) == "set 7 of domain 0 is of no kind x1");
}

TEST_CASE("flow templates: a hundred of twenty fields take less than 64 KB of an exporter") {
  Received received;
  Fields fields = kPlainFields;
  for (const int more : {10, 14, 21, 22, 6, 16, 17, 61, 48, 60, 5, 9, 13}) {
    fields.push_back({static_cast<std::uint16_t>(more), 4});
  }
  REQUIRE(fields.size() == 20);
  for (std::uint16_t i = 0; i < 100; i++)
    received.feed(ipfix({}, ipfixTemplate(static_cast<std::uint16_t>(256 + i), fields)));
  CHECK(received.status().templates == 100);
  CHECK(received.status().memoryBytes < 65'536);
}
