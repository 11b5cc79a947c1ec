#include <doctest/doctest.h>

#include "flow/flow_bounds.h"
#include "flow_messages.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

Bytes padded(Bytes bytes) {
  bytes.resize((bytes.size() + 3) & ~std::size_t{3});
  return bytes;
}
/// A structure: its format and its length before it.
Bytes structure(std::uint32_t format, const Bytes& content) {
  return words({format, static_cast<std::uint32_t>(content.size())}) + padded(content);
}
Bytes rawHeader(std::uint32_t protocol, std::uint32_t frameLength, const Bytes& header) {
  return structure(1, words({protocol, frameLength, 4, static_cast<std::uint32_t>(header.size())}) + padded(header));
}
struct SampleFields {
  std::uint32_t number = 0;
  std::uint32_t source = 7;
  std::uint32_t rate = 1000;
  std::uint32_t pool = 5;
  std::uint32_t drops = 0;
  std::uint32_t input = 7;
  std::uint32_t output = 9;
};
Bytes flowSample(const SampleFields& fields, std::uint32_t count, const Bytes& records) {
  return structure(1, words({fields.number, fields.source, fields.rate, fields.pool, fields.drops, fields.input,
                             fields.output, count}) +
                          records);
}
Bytes sflow(std::uint32_t sequence, std::uint32_t count, const Bytes& samples, std::uint32_t uptimeMs = kUptimeMs) {
  return words({5, 1, 0x0a000001, 0, sequence, uptimeMs, count}) + samples;
}
Received receivedOf(const Bytes& sample) { return std::move(Received().feed(sflow(1, 1, sample))); }
FlowRecord only(const Received& received) {
  REQUIRE(received.records.size() == 1);
  CHECK(received.undecoded() == "");
  return received.records[0];
}

const Bytes kIp = ipv4Packet({.protocol = 6}, tcp(4000, 80, tcp_flag::kSyn));
const Bytes kFrame = ethernet(0x0800) + kIp;

}  // namespace

TEST_CASE("sFlow: a sampled frame, without the check sum that its length has") {
  const Received received = receivedOf(flowSample({}, 1, rawHeader(1, 1518, kFrame)));
  const FlowRecord record = only(received);
  CHECK(record.packet.source == ipv4(kForeign + 1));
  CHECK(record.packet.destination == ipv4(kProtected + 1));
  CHECK(record.packet.isSyn);
  CHECK(record.packets == 1);
  CHECK(record.bytes == 1514);
  CHECK(record.packet.wire == 1514);
  CHECK(record.samplingRate == 1000);
  CHECK(record.input == 7);
  CHECK(record.output == 9);
  CHECK(record.direction == FlowDirection::ingress);
  CHECK(record.durationMs == 0);
  CHECK(record.link == Link::ethernet);
  CHECK(received.headers[0] == kFrame);
}

TEST_CASE("sFlow: direction and interfaces in the compact and the expanded form") {
  const Bytes header = rawHeader(1, 64, kFrame);
  CHECK(only(receivedOf(flowSample({.source = 9}, 1, header))).direction == FlowDirection::egress);
  CHECK(only(receivedOf(flowSample({.source = 8}, 1, header))).direction == FlowDirection::unknown);
  // Discarded, sent to several, or to the device itself.
  CHECK(only(receivedOf(flowSample({.output = 0x40000001}, 1, header))).output == 0);
  CHECK(only(receivedOf(flowSample({.output = 0x80000002}, 1, header))).output == 0);
  CHECK(only(receivedOf(flowSample({.output = 0x3fffffff}, 1, header))).output == 0);
  const auto expanded = [&](std::uint32_t format, std::uint32_t output) {
    return only(
        receivedOf(structure(3, words({1, 0, 0x01000007, 500, 5, 0, 0, 0x01000007, format, output, 1}) + header)));
  };
  CHECK(expanded(0, 0x02000009).input == 0x01000007);
  CHECK(expanded(0, 0x02000009).output == 0x02000009);
  CHECK(expanded(0, 0x02000009).direction == FlowDirection::ingress);
  CHECK(expanded(0, 0x02000009).samplingRate == 500);
  CHECK(expanded(1, 3).output == 0);
  CHECK(expanded(0, 0xffffffff).output == 0);
}

TEST_CASE("sFlow: headers of IPv4, IPv6, MPLS and PPP count as the Ethernet frames that a mirror shows") {
  const Bytes six = ipv6Packet({}, udp(4000, 53));
  const auto wireOf = [](std::uint32_t protocol, const Bytes& header, std::size_t ip) {
    const FlowRecord record =
        only(receivedOf(flowSample({}, 1, rawHeader(protocol, static_cast<std::uint32_t>(header.size()), header))));
    CHECK(record.link == Link::rawIp);
    CHECK(record.headerBytes == ip);
    CHECK(record.packet.wire == ip + 14);
    return record.packet.destination;
  };
  const Bytes top = words({0x00010040}), bottom = words({0x00011140});
  CHECK(wireOf(11, kIp, kIp.size()) == ipv4(kProtected + 1));
  CHECK(wireOf(12, six, six.size()) == ipv6(1, 1));
  CHECK(wireOf(13, bottom + kIp, kIp.size()) == ipv4(kProtected + 1));
  CHECK(wireOf(13, top + top + bottom + six, six.size()) == ipv6(1, 1));
  CHECK(wireOf(7, number(0xff030021, 4) + kIp, kIp.size()) == ipv4(kProtected + 1));
  CHECK(wireOf(7, number(0x0057, 2) + six, six.size()) == ipv6(1, 1));
  CHECK(wireOf(7, number(0x21, 1) + kIp, kIp.size()) == ipv4(kProtected + 1));
  CHECK(wireOf(7, number(0x0281, 2) + bottom + kIp, kIp.size()) == ipv4(kProtected + 1));
  CHECK(wireOf(14, number(0xff030021, 4) + kIp, kIp.size()) == ipv4(kProtected + 1));
  CHECK(wireOf(14, number(0x0f000800, 4) + kIp, kIp.size()) == ipv4(kProtected + 1));
}

TEST_CASE(
    "sFlow: headers that cannot be read, or of a kind that is not taken apart, are counted by protocol and reason") {
  const auto refusal = [](std::uint32_t protocol, const Bytes& header) {
    const Received received = receivedOf(flowSample({}, 1, rawHeader(protocol, 64, header)));
    CHECK(received.records.empty());
    return received.undecoded();
  };
  CHECK(refusal(1, Bytes(5)) == "sampled header of protocol 1: truncated_ethernet x1");
  CHECK(refusal(5, kIp) == "sampled header of protocol 5 is not taken apart x1");
}

TEST_CASE("sFlow: sampled IPv4 and IPv6 without a header, which holds where there is one") {
  const Bytes four = structure(3, words({100, 6, kForeign, kProtected, 4000, 80, 0x02, 0}));
  const FlowRecord record = only(receivedOf(flowSample({}, 1, four)));
  CHECK(record.packet.destination == ipv4(kProtected));
  CHECK(record.packet.sourcePort == 4000);
  CHECK(record.packet.isSyn);
  CHECK(record.bytes == 114);
  CHECK(record.headerBytes == 0);
  const Bytes six =
      structure(4, words({100, 17}) + bytesOf(ipv6(9, 1)) + bytesOf(ipv6(1, 5)) + words({4000, 53, 0, 0}));
  CHECK(only(receivedOf(flowSample({}, 1, six))).packet.destination == ipv6(1, 5));
  const Bytes header = rawHeader(1, 64, kFrame), mac = structure(2, words({64, 0, 0, 0, 0, 0x0800}));
  for (const Bytes& records : {mac + four + header, header + four + mac}) {
    CHECK(only(receivedOf(flowSample({}, 3, records))).packet.destination == ipv4(kProtected + 1));
  }
  // One that cannot be read takes nothing of them.
  const Bytes labels = rawHeader(1, 200, ethernet(0x8847) + Bytes(60));
  for (const Bytes& records : {four + labels, labels + four}) {
    const FlowRecord labelled = only(receivedOf(flowSample({}, 2, records)));
    CHECK(labelled.packet.destination == ipv4(kProtected));
    CHECK(labelled.packet.protocol == 6);
    CHECK(labelled.bytes == 114);
  }
}

TEST_CASE("sFlow: AS numbers of the gateway; structures of others are stepped over") {
  const Bytes header = rawHeader(1, 64, kFrame);
  const Bytes others = structure(1001, words({1, 2, 3, 4})) + structure(0x00123001, Bytes(5, 0xff));
  const auto gateway = [](const Bytes& hop, std::uint32_t source, const Bytes& path) {
    return structure(1003, hop + words({64500, source, 64501}) + path);
  };
  const FlowRecord record = only(receivedOf(flowSample(
      {}, 4,
      others + gateway(words({1, 0x01020304}), 64502, words({2, 2, 2, 64510, 64511, 1, 1, 64512, 0, 0})) + header)));
  CHECK(record.sourceAs == 64502);
  CHECK(record.destinationAs == 64512);
  const FlowRecord own =
      only(receivedOf(flowSample({}, 2, gateway(words({2, 0, 0, 0, 1}), 0, words({0, 0, 0})) + header)));
  CHECK(own.sourceAs == 64500);
  CHECK(own.destinationAs == 64500);
  // A path whose length lies.
  CHECK(
      only(receivedOf(flowSample({}, 2, gateway(words({1, 0}), 1, words({1, 2, 0xffffffff, 5})) + header))).sourceAs ==
      1);
}

TEST_CASE("sFlow: a sample stands for those that its agent left out, where the pool shows that there were any") {
  // Of 100 samples nine in ten are left out; then 100 of which none is.
  const auto countedWith = [](std::uint32_t poolEach, std::uint32_t dropsEach) {
    Received received;
    std::uint32_t pool = 0xffff0000, drops = 0, number = 0;
    const auto feed = [&](std::uint32_t samples, std::uint32_t poolMore, std::uint32_t dropsMore) {
      for (std::uint32_t i = 0; i < samples; i++) {
        number++;
        received.feed(sflow(number, 1,
                            flowSample({.number = number, .pool = pool += poolMore, .drops = drops += dropsMore}, 1,
                                       rawHeader(1, 1518, kFrame))));
      }
      return received.records.back().samplingRate;
    };
    const std::uint32_t under = feed(100, poolEach, dropsEach);
    return std::pair(under, feed(100, 1000, 0));
  };
  CHECK(countedWith(10'000, 9) == std::pair(10'000U, 1000U));
  // Something else is counted in drops, or nothing in the pool.
  CHECK(countedWith(1000, 9) == std::pair(1000U, 1000U));
  CHECK(countedWith(0, 9) == std::pair(1000U, 1000U));
  // No more than the drops.
  CHECK(countedWith(100'000, 1) == std::pair(2000U, 1000U));
  CHECK(countedWith(10'000, 0) == std::pair(1000U, 1000U));
}

TEST_CASE("sFlow: each data source has its rate, its sequence and its drops") {
  Received received;
  const auto sample = [](std::uint32_t sequence, std::uint32_t source, std::uint32_t rate, std::uint32_t drops) {
    return flowSample({.number = sequence, .source = source, .rate = rate, .drops = drops}, 1,
                      rawHeader(1, 64, kFrame));
  };
  received.feed(sflow(1, 2, sample(10, 1, 100, 5) + sample(70, 2, 2000, 0)));
  received.feed(sflow(2, 2, sample(14, 1, 200, 9) + sample(71, 2, 2000, 0)));
  received.feed(sflow(3, 1, sample(15, 1, 200, 9)), kFlowNowMs + 3000);
  REQUIRE(received.records.size() == 5);
  CHECK(received.records[0].samplingRate == 100);
  CHECK(received.records[1].samplingRate == 2000);
  CHECK(received.records[2].samplingRate == 200);
  const FlowExporterStatus status = received.status();
  CHECK(status.counts.lostRecords == 3);
  CHECK(status.counts.lostDatagrams == 0);
  CHECK(status.counts.droppedSamples == 4);
  CHECK(status.samplings.size() == 2);
  // An agent that restarts.
  received.feed(sflow(1, 1, sample(1, 1, 200, 0), 100), kFlowNowMs + 4000);
  received.feed(sflow(2, 1, sample(2, 1, 200, 1), 200), kFlowNowMs + 8000);
  CHECK(received.status().counts.restarts == 1);
  CHECK(received.status().counts.lostRecords == 3);
  CHECK(received.status().counts.droppedSamples == 5);
}

TEST_CASE("sFlow: datagrams are counted by agent, lost ones too") {
  Received received;
  const auto of = [](std::uint32_t agent, std::uint32_t subAgent, std::uint32_t sequence) {
    return words({5, 1, agent, subAgent, sequence, kUptimeMs, 0});
  };
  received.feed(of(1, 0, 100)).feed(of(2, 0, 500)).feed(of(1, 1, 900));
  received.feed(of(1, 0, 101)).feed(of(2, 0, 503)).feed(of(1, 1, 901));
  received.feed(words({5, 2, 0, 0, 0, 9, 0, 7, kUptimeMs, 0}));
  received.feed(of(2, 0, 504), kFlowNowMs + 3000);
  CHECK(received.status().counts.lostDatagrams == 2);
  CHECK(received.status().domains == 4);
  CHECK(received.undecoded() == "");
}

TEST_CASE("sFlow: names of interfaces from counter samples of both forms") {
  const auto counters = [](std::uint32_t index) { return structure(1, words({index}) + Bytes(84)); };
  const Bytes name = structure(1005, words({4}) + text("eth3", 4));
  Received received;
  received.feed(
      sflow(1, 2, structure(2, words({1, 3, 2}) + counters(3) + name) + structure(4, words({1, 0, 5, 1}) + name)));
  CHECK(received.exporter.interfaceName(3) == "eth3");
  CHECK(received.exporter.interfaceName(5) == "eth3");
  CHECK(received.status().counts.otherRecords == 2);
  CHECK(received.undecoded() == "");
}

TEST_CASE("sFlow: samples and structures that end too soon, and unknown formats, are counted") {
  const Bytes good = flowSample({}, 1, rawHeader(1, 64, kFrame));
  const auto undecoded = [&](std::uint32_t count, const Bytes& samples) {
    Received received;
    received.feed(sflow(1, count, samples));
    CHECK(received.records.size() == 1);
    return received.undecoded();
  };
  CHECK(undecoded(2, good) == "set or sample 0 of domain 0 has length 0 x1");
  CHECK(undecoded(2, good + words({1, 4000, 7})) == "set or sample 1 of domain 0 has length 4000 x1");
  CHECK(undecoded(2, good + structure(1, words({1, 2, 3}))) ==
        "record of set or sample 1 of domain 0 ends after 12 bytes x1");
  CHECK(undecoded(2, structure(9, Bytes(8)) + good) == "sample of format 9 x1");
  CHECK(undecoded(2, good + flowSample({}, 1, words({1, 400, 0}))) ==
        "record of set or sample 1 of domain 0 ends after 44 bytes x1");
  Received cut;
  cut.feed(words({5, 1, 1, 0}));
  CHECK(cut.undecoded() == "datagram of version 5 and 16 bytes has count or length 1 x1");
}

TEST_CASE("sFlow: data sources are bounded, what is beyond is decoded all the same, and the oldest are replaced") {
  Received received;
  constexpr std::size_t kEighth = kDataSourcesMax / 8;
  for (std::uint32_t i = 0; i < kDataSourcesMax + kEighth + 5; i++) {
    received.feed(sflow(i, 1, flowSample({.source = i}, 1, rawHeader(1, 64, kFrame))));
  }
  CHECK(received.records.size() == kDataSourcesMax + kEighth + 5);
  CHECK(received.status().undecodedByKind[static_cast<std::size_t>(UndecodedKind::bound)] == 5);
  received.feed(sflow(kDataSourcesMax + kEighth + 5, 1, flowSample({.source = 9999}, 1, rawHeader(1, 64, kFrame))),
                kFlowNowMs + 1000);
  CHECK(received.status().undecodedByKind[static_cast<std::size_t>(UndecodedKind::bound)] == 5);
  CHECK(received.status().samplings.size() == kSamplingsShownMax);
}

TEST_CASE("sFlow: what is not for us is counted apart, and is no fault") {
  Received received;
  const Bytes arp = ethernet(0x0806) + Bytes(28), mpls = ethernet(0x8847) + Bytes{0, 1, 1, 64, 0x45} + Bytes(40);
  received.feed(sflow(1, 1, structure(0x00123002, Bytes(8))));
  received.feed(sflow(2, 1, structure(5, Bytes(40))));
  received.feed(sflow(3, 1, flowSample({}, 1, rawHeader(1, 64, arp))));
  received.feed(sflow(4, 1, flowSample({}, 1, rawHeader(1, 64, mpls))));
  received.feed(sflow(5, 1, flowSample({}, 1, rawHeader(13, 200, Bytes(4 * 40, 0)))));
  received.feed(sflow(6, 1, flowSample({}, 1, rawHeader(7, 64, number(0xff03c021, 4)))));
  received.feed(sflow(7, 1, flowSample({}, 1, structure(0x00123001, Bytes(8)))));
  CHECK(received.records.empty());
  CHECK(received.undecoded() == "");
  const std::array<std::uint64_t, kNotForUs> expected = {2, 1, 3, 1, 0};
  CHECK(received.status().counts.notForUs == expected);
}

TEST_CASE("sFlow: a frame is as long as its IP header says where the agent reports the header's length, or none") {
  const auto frameOf = [](std::uint32_t ipBytes, std::size_t length) {
    Bytes frame = ethernet(0x0800) + Bytes{0x45, 0} + number(ipBytes, 2) + Bytes{0, 0, 0, 0, 64, 17, 0, 0} +
                  words({kForeign, kProtected});
    frame.resize(length);
    return frame;
  };
  const auto bytesAfter = [&](Received& received, std::uint32_t said, const Bytes& frame) {
    received.feed(
        sflow(static_cast<std::uint32_t>(received.records.size()), 1, flowSample({}, 1, rawHeader(1, said, frame))));
    return received.records.back().bytes;
  };
  Received cut;
  CHECK(bytesAfter(cut, 132, frameOf(1500, 128)) == 1514);
  CHECK(bytesAfter(cut, 0, frameOf(1500, 128)) == 1514);
  CHECK(bytesAfter(cut, 64, frameOf(46, 60)) == 60);
  // A short frame whose header lies: an attacker's.
  CHECK(bytesAfter(cut, 64, frameOf(60'000, 60)) == 60);
  Received sound;
  CHECK(bytesAfter(sound, 1518, frameOf(1500, 128)) == 1514);
  CHECK(bytesAfter(sound, 132, frameOf(60'000, 128)) == 128);
  // The length wins where there is one; one that no frame has does not count later.
  CHECK(bytesAfter(sound, 4'000'000'000, frameOf(1500, 128)) == 3'999'999'996);
}

TEST_CASE("sFlow: what was stripped is taken off once") {
  const auto bytesOf = [](std::uint32_t protocol, std::uint32_t said, std::uint32_t stripped, const Bytes& header) {
    const Bytes record =
        structure(1, words({protocol, said, stripped, static_cast<std::uint32_t>(header.size())}) + padded(header));
    return only(receivedOf(flowSample({}, 1, record))).bytes;
  };
  // Host sFlow by Netfilter: an IPv4 packet of 28 bytes, and 18 of Ethernet that it never had.
  const Bytes ip(kFrame.begin() + 14, kFrame.end());
  const auto length = static_cast<std::uint32_t>(ip.size());
  CHECK(bytesOf(11, length + 18, 18, ip) == length + 14);
  CHECK(bytesOf(11, length, 0, ip) == length + 14);
  // A tag that was taken off was on the wire.
  CHECK(bytesOf(1, length + 14 + 8, 8, kFrame) == length + 14 + 4);
  CHECK(bytesOf(1, length + 14 + 4, 4, kFrame) == length + 14);
}

TEST_CASE("sFlow: a rate that cannot be does not hold, and the one before does") {
  Received received;
  const auto rateAfter = [&](std::uint32_t sequence, std::uint32_t rate) {
    received.feed(sflow(sequence, 1, flowSample({.number = sequence, .rate = rate}, 1, rawHeader(1, 64, kFrame))));
    return received.records.back().samplingRate;
  };
  CHECK(rateAfter(1, 0xe8030000) == 0);
  CHECK(rateAfter(2, 1U << 20) == 1U << 20);
  CHECK(rateAfter(3, (1U << 20) + 1) == 1U << 20);
  CHECK(received.status().counts.impossibleRates == 2);
}
