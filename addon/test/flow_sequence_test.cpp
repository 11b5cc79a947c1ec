#include "flow/sequence_tracker.h"

#include <doctest/doctest.h>

#include "flow_messages.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

/// Datagrams of one exporter, whose records make each differ from the others.
struct Sender {
  Bytes netflow9(std::uint32_t sequence, std::uint32_t uptimeMs = kUptimeMs, std::uint32_t records = 1) {
    Bytes made;
    for (std::uint32_t i = 0; i < records; i++) append(made, plainRecord({.source = sent++}));
    return test::netflow9({.number = sequence, .uptimeMs = uptimeMs},
                          netflow9Template(256, kPlainFields) + flowSet(256, made));
  }
  Bytes ipfix(std::uint32_t sequence, std::uint32_t records, std::uint16_t id = 256) {
    Bytes made;
    for (std::uint32_t i = 0; i < records; i++) append(made, plainRecord({.source = sent++}));
    return test::ipfix({.number = sequence}, ipfixTemplate(256, kPlainFields) + flowSet(id, made));
  }
  std::uint32_t sent = 0;
};

constexpr std::uint64_t kLaterMs = kFlowNowMs + 2 * SequenceTracker::kReorderMs;

}  // namespace

TEST_CASE("flow sequence: NetFlow v9 counts datagrams, and a gap is lost after a moment") {
  Received received;
  Sender sender;
  received.feed(sender.netflow9(100)).feed(sender.netflow9(101)).feed(sender.netflow9(105));
  CHECK(received.status().counts.lostDatagrams == 0);
  received.feed(sender.netflow9(106), kLaterMs);
  CHECK(received.status().counts.lostDatagrams == 3);
  received.feed(sender.netflow9(107), kLaterMs);
  CHECK(received.status().counts.lostDatagrams == 3);
  CHECK(received.status().counts.lostRecords == 0);
}

TEST_CASE("flow sequence: what a silent exporter never sent is lost without another datagram") {
  Received received;
  Sender sender;
  received.feed(sender.netflow9(100)).feed(sender.netflow9(105)).feed(sender.ipfix(10, 2)).feed(sender.ipfix(19, 1));
  received.exporter.settle(kFlowNowMs + SequenceTracker::kReorderMs);
  CHECK(received.status().counts.lostDatagrams == 0);
  for (int i = 0; i < 2; i++) received.exporter.settle(kLaterMs);
  CHECK(received.status().counts.lostDatagrams == 4);
  CHECK(received.status().counts.lostRecords == 7);
}

TEST_CASE("flow sequence: what comes late fills its gap, whatever its place in it") {
  Received received;
  Sender sender;
  received.feed(sender.netflow9(100)).feed(sender.netflow9(105));
  for (const std::uint32_t late : {102U, 101U, 104U}) received.feed(sender.netflow9(late));
  CHECK(received.status().counts.reordered == 3);
  received.feed(sender.netflow9(106), kLaterMs);
  CHECK(received.status().counts.lostDatagrams == 1);
  CHECK(received.status().counts.restarts == 0);
  CHECK(received.records.size() == 6);
}

TEST_CASE("flow sequence: the same datagram twice counts once, a repeated number alone does not show it") {
  Received received;
  Sender sender;
  const Bytes once = sender.netflow9(100);
  received.feed(once).feed(once).feed(sender.netflow9(101)).feed(once);
  CHECK(received.records.size() == 2);
  CHECK(received.status().counts.duplicates == 2);
  // As exporters that never count their datagrams.
  Received constant;
  for (int i = 0; i < 50; i++) constant.feed(sender.ipfix(0, 3));
  CHECK(constant.records.size() == 150);
  CHECK(constant.status().counts.duplicates == 0);
  CHECK(constant.status().counts.restarts == 0);
  CHECK(constant.status().counts.lostRecords == 0);
}

TEST_CASE("flow sequence: IPFIX counts data records, those of options too, and of each domain") {
  Received received;
  Sender sender;
  received.feed(sender.ipfix(1000, 3)).feed(sender.ipfix(1003, 2));
  received.feed(ipfix({.number = 1005}, ipfixOptions(300, {{149, 4}}, {{34, 4}}) + flowSet(300, words({0, 1}))));
  received.feed(sender.ipfix(1006, 1)).feed(sender.ipfix(1027, 1));
  received.feed(ipfix({.number = 5, .domain = 8}, {}));
  received.feed(sender.ipfix(1028, 1), kLaterMs);
  CHECK(received.status().counts.lostRecords == 20);
  CHECK(received.status().counts.restarts == 0);
}

TEST_CASE("flow sequence: what cannot be distinguished is no loss") {
  Received received;
  Sender sender;
  received.feed(sender.ipfix(1000, 3)).feed(sender.ipfix(1003, 9, 999)).feed(sender.ipfix(1014, 1));
  received.feed(sender.ipfix(1015, 1), kLaterMs);
  CHECK(received.status().counts.lostRecords == 0);
}

TEST_CASE("flow sequence: NetFlow v5 counts flows, by engine") {
  Received received;
  const auto datagram = [](std::uint32_t sequence, std::uint16_t engine) {
    return number(5, 2) + number(2, 2) + words({kUptimeMs, kFlowNowMs / 1000, 0, sequence}) + number(engine, 2) +
           number(1, 2) + Bytes(96, 1);
  };
  received.feed(datagram(10, 0))
      .feed(datagram(12, 0))
      .feed(datagram(50, 1))
      .feed(datagram(20, 0))
      .feed(datagram(52, 1));
  received.feed(datagram(22, 0), kLaterMs);
  CHECK(received.status().counts.lostRecords == 6);
  CHECK(received.records.size() == 12);
}

TEST_CASE("flow sequence: a restart, by uptime or by numbers near 0, is no loss") {
  Received received;
  Sender sender;
  received.feed(sender.netflow9(100'000)).feed(sender.netflow9(0, 5000)).feed(sender.netflow9(1, 6000));
  CHECK(received.status().counts.restarts == 1);
  // Reordering by less than the exporter's clock needs is none.
  received.feed(sender.netflow9(3, 8000)).feed(sender.netflow9(2, 7000));
  CHECK(received.status().counts.restarts == 1);
  Received other;
  other.feed(sender.ipfix(5'000'000, 1)).feed(sender.ipfix(3, 1)).feed(sender.ipfix(4, 1));
  other.feed(sender.ipfix(5, 1), kLaterMs);
  CHECK(other.status().counts.restarts == 1);
  CHECK(other.status().counts.lostRecords == 0);
}

TEST_CASE("flow sequence: numbers and uptimes wrap") {
  Received received;
  Sender sender;
  received.feed(sender.netflow9(0xffffffff, 0xfffffff0)).feed(sender.netflow9(0, 100)).feed(sender.netflow9(2, 200));
  received.feed(sender.netflow9(3, 300), kLaterMs);
  CHECK(received.status().counts.restarts == 0);
  CHECK(received.status().counts.lostDatagrams == 1);
}

TEST_CASE("flow sequence: NetFlow v9 of exporters that count records is taken as that") {
  Received received;
  Sender sender;
  std::uint32_t sequence = 0;
  for (int i = 0; i < 10; i++) {
    received.feed(sender.netflow9(sequence, kUptimeMs, 5));
    sequence += 5;
  }
  received.feed(sender.netflow9(sequence + 7, kUptimeMs, 5));
  received.feed(sender.netflow9(sequence + 12, kUptimeMs, 5), kLaterMs);
  CHECK(received.status().counts.lostRecords == 7);
  CHECK(received.status().counts.lostDatagrams == 0);
}

TEST_CASE("flow sequence: more gaps than are kept count as lost at once") {
  SequenceTracker tracker;
  for (std::uint32_t i = 0; i < 7; i++) {
    CHECK(tracker.arrive(i * 10, kFlowNowMs, false) == Arrival::inOrder);
    tracker.advance(1);
  }
  CHECK(tracker.takeLost(kFlowNowMs) == 18);
  CHECK(tracker.takeLost(kLaterMs) == 36);
  CHECK(tracker.takeLost(kLaterMs) == 0);
}

TEST_CASE("flow clock: the exporter's clock minus ours, smoothed, and a step at once") {
  Received received;
  Sender sender;
  CHECK_FALSE(received.status().isClockKnown);
  received.feed(sender.netflow9(1), kFlowNowMs + 500);
  CHECK(received.status().clockSkewMs == -500);
  received.feed(sender.netflow9(2), kFlowNowMs + 660);
  CHECK(received.status().clockSkewMs == -510);
  received.feed(sender.netflow9(3), kFlowNowMs - 60'000);
  CHECK(received.status().clockSkewMs == 60'000);
  CHECK(received.status().lastSeenMs == kFlowNowMs - 60'000);
}
