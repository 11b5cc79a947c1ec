// Frames of every linktype, cut at every length: whatever comes back lies inside what was given.
#include "capture/pcap_link.h"

#include <doctest/doctest.h>
#include <pcap/pcap.h>

#include <random>
#include <vector>

#include "capture/capture_source.h"
#include "parse/packet_parser.h"

namespace floodwall {
namespace {

constexpr int kLinktypes[] = {DLT_EN10MB,    DLT_RAW,        DLT_IPV4, DLT_IPV6,
                              DLT_LINUX_SLL, DLT_LINUX_SLL2, DLT_NULL, DLT_LOOP};

/// Stripped and parsed from a buffer of exactly its length, so that the sanitizer sees a read beyond it.
void stripAndParse(const PcapLink& link, const std::vector<std::uint8_t>& bytes) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  const Frame stripped = link.strip({bytes.data(), length, length});
  CHECK(stripped.captured <= stripped.wire);
  Packet packet;
  static_cast<void>(parsePacket(stripped, link.link(), packet));
}

TEST_CASE("hostile frames of every linktype are read inside their bounds") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  // Types and families that lead on, so that random bytes reach the inner checks.
  constexpr std::uint8_t kDecisive[] = {0x00, 0x02, 0x08, 0x81, 0x88, 0xa8, 0x86, 0xdd, 0x45, 0x60, 0x1e};
  for (const int dlt : kLinktypes) {
    const PcapLink link(dlt, "test");
    for (std::size_t length = 0; length < 64; length++) {
      for (int round = 0; round < 200; round++) {
        std::vector<std::uint8_t> bytes(length);
        for (std::uint8_t& byte : bytes) byte = kDecisive[random() % std::size(kDecisive)];
        stripAndParse(link, bytes);
      }
    }
  }
}

TEST_CASE("a frame that is cut in its own header keeps its length on the wire and is not IP") {
  const std::vector<std::uint8_t> bytes(10);
  for (const int dlt : {DLT_LINUX_SLL, DLT_LINUX_SLL2}) {
    const PcapLink link(dlt, "test");
    const Frame stripped = link.strip({bytes.data(), 10, 900});
    CHECK(stripped.wire == 900);
    Packet packet;
    CHECK(parsePacket(stripped, link.link(), packet) == ParseError::notIp);
  }
}

TEST_CASE("a linktype that is not read is refused by name") {
  CHECK_THROWS_WITH_AS(PcapLink(DLT_IEEE802_11, "interface wlan0"),
                       "interface wlan0 has linktype IEEE802_11: only Ethernet, raw IP, Linux cooked and loopback "
                       "captures are read",
                       SourceError);
}

}  // namespace
}  // namespace floodwall
