// Datagrams of devices that say things in their own way: what the router meant is counted, by destination.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "judged_records.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

const std::filesystem::path kFolder = "../shared/captures/flow-quirks";

/// The last byte of the host in 203.0.113.0/24, and what is right to count of it.
struct Host {
  std::uint8_t last;
  std::uint64_t packets;
  /// Frames without check sum.
  std::uint64_t bytes;
};
struct Expected {
  const char* file;
  std::vector<Host> hosts;
  /// Records or samples that cannot be.
  std::uint64_t impossible = 0;
};

const Expected kExpected[] = {
    {"xr-305-alone", {{1, 10'000, 5'140'000}}},
    {"sros-305-306", {{4, 100'000, 51'400'000}}},
    {"mikrotik-little-endian", {{7, 10'000, 5'140'000}}},
    {"sampler-change", {{11, 10'000, 5'140'000}, {12, 1000, 514'000}}},
    {"port-conflict", {{13, 10, 5140}, {14, 10, 5140}}},
    {"asa-update-and-teardown", {{20, 70, 105'980}}},
    {"totals-of-a-flow", {{21, 400, 205'600}}},
    {"negative-delta", {}, 1},
    {"srv6-inner-ipv4", {{23, 59, 8142}}},
    {"uptime-wrap", {{25, 10, 5140}}},
    {"sflow-vendor", {{31, 1000, 1'514'000}}},
    {"sflow-short-frame-length", {{32, 1000, 1'514'000}}},
    {"sflow-gateway", {{35, 1000, 1'514'000}}},
    {"layer2-only", {{36, 10, 5140}}},
    {"flow-start-stays", {{41, 10'000, 1'140'000}}},
};

std::uint32_t little32(const Bytes& bytes, std::size_t at) { return __builtin_bswap32(big32(&bytes[at])); }

/// Frames of Ethernet, IPv4 and UDP of a classic capture, to one exporter. Times are those of the datagrams' headers.
void play(const std::filesystem::path& path, Judged& judged) {
  constexpr std::size_t kFile = 24, kPacket = 16, kHeaders = 14 + 20 + 8;
  std::ifstream file(path, std::ios::binary);
  const Bytes bytes(std::istreambuf_iterator<char>(file), {});
  for (std::size_t at = kFile; at + kPacket <= bytes.size();) {
    const std::size_t length = little32(bytes, at + 8), frame = at + kPacket, payload = frame + kHeaders;
    const Bytes datagram(bytes.begin() + static_cast<std::ptrdiff_t>(payload),
                         bytes.begin() + static_cast<std::ptrdiff_t>(frame + length));
    const std::uint16_t version = big16(datagram.data());
    const std::uint64_t seconds = version == 10 ? big32(&datagram[4]) : version == 9 ? big32(&datagram[8]) : 1000;
    judged.feed(datagram, 1000 * seconds, big16(&bytes[payload - 8]));
    at = frame + length;
  }
}

}  // namespace

TEST_CASE("flow quirks: what each device meant is counted, and nothing else") {
  if (!std::filesystem::exists(kFolder)) {
    std::printf("skipped: flow quirks (%s is not there)\n", kFolder.c_str());
    return;
  }
  for (const Expected& expected : kExpected) {
    CAPTURE(expected.file);
    Judged judged;
    play((kFolder / expected.file).concat(".pcap"), judged);
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> counted;
    for (const Host& host : expected.hosts) {
      counted[textOf(ipv4(0xcb007100U + host.last))] = {host.packets, host.bytes};
    }
    CHECK(judged.sums() == counted);
    CHECK(judged.impossible() == expected.impossible);
    CHECK(judged.undecoded() == 0);
  }
}
