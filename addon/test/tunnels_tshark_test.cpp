// What comes out of a tunnel's near end, as another decoder reads it: tshark, which knows nothing of our tests'
// builders.
#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/address_text.h"
#include "forward_box.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint8_t kSyn = 2;

/// Fields of tshark, in the order in which they are requested; of nested headers from the outermost.
constexpr const char* kFields[] = {
    "frame.protocols",
    "ip.src",
    "ip.dst",
    "ip.ttl",
    "ip.dsfield",
    "ip.checksum.status",
    "ipv6.src",
    "ipv6.dst",
    "ipv6.hlim",
    "gre.key",
    "vxlan.vni",
    "udp.dstport",
    "tcp.checksum.status",
    "tcp.options.mss_val",
    "icmp.mtu",
    "icmp.checksum.status",
    "icmpv6.mtu",
    "icmpv6.checksum.status",
    "_ws.expert.message",
};

void put32Little(std::ofstream& file, std::uint32_t value) {
  for (int i = 0; i < 4; i++) file.put(static_cast<char>(value >> (8 * i)));
}

/// A capture file of Ethernet frames (the format of libpcap, savefile(5)).
void writeCapture(const std::string& path, const std::vector<Bytes>& frames) {
  constexpr std::uint32_t kMagic = 0xa1b2c3d4, kVersion = 4U << 16 | 2U, kSnapLength = 65'535, kEthernet = 1;
  std::ofstream file(path, std::ios::binary);
  for (const std::uint32_t word : {kMagic, kVersion, 0U, 0U, kSnapLength, kEthernet}) put32Little(file, word);
  for (const Bytes& frame : frames) {
    const auto length = static_cast<std::uint32_t>(frame.size());
    for (const std::uint32_t word : {1'700'000'000U, 0U, length, length}) put32Little(file, word);
    file.write(reinterpret_cast<const char*>(frame.data()), length);
  }
}

/// One line of each frame: its fields, with `|` between them and `,` between those of one name.
std::vector<std::string> readByTshark(const std::vector<Bytes>& frames) {
  const std::string folder = std::filesystem::temp_directory_path() / "floodwall-tshark-XXXXXX";
  std::string made = folder;
  REQUIRE(mkdtemp(made.data()) != nullptr);
  const std::string capture = made + "/tunnels.pcap", text = made + "/text";
  writeCapture(capture, frames);
  // The payload is filler, whatever the port; zero is what RFC 6935 has for UDP tunnels over IPv6.
  std::string command =
      "tshark -n -r " + capture + " -d udp.port==53,data -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE" +
      " -o udp.ignore_ipv6_zero_checksum:TRUE -o tcp.analyze_sequence_numbers:FALSE" + " -T fields -E 'separator=|'";
  for (const char* const field : kFields) command += std::string(" -e ") + field;
  CAPTURE(command);
  CHECK(std::system((command + " >" + text + " 2>" + made + "/errors").c_str()) == 0);  // NOLINT(cert-env33-c)
  std::ifstream file(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::filesystem::remove_all(made);
  REQUIRE(lines.size() == frames.size());
  return lines;
}

enum class Carried : std::uint8_t { udp, syn };
struct Went {
  TunnelFields tunnel;
  bool isInnerIpv4;
  Carried carried;
};

std::string hexOf(std::uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", value);
  return text.data();
}

/// What tshark must say of the frame that comes out.
std::string lineOf(const Went& went) {
  const auto& tunnel = went.tunnel;
  const auto carried = went.carried;
  const bool isInnerIpv4 = went.isInnerIpv4, isOuterIpv4 = tunnel.isOuterIpv4, isSyn = carried == Carried::syn;
  // Of the outer header, then of the inner one.
  const auto both = [&](bool isIpv4, const std::string& outer, const std::string& inner) {
    const std::string first = isOuterIpv4 == isIpv4 ? outer : "", second = isInnerIpv4 == isIpv4 ? inner : "";
    return first + (first.empty() || second.empty() ? "" : ",") + second;
  };
  const std::string family = isOuterIpv4 ? "ip" : "ipv6", inner = isInnerIpv4 ? "ip" : "ipv6";
  const std::string within = tunnel.kind == FORWARD_GRE     ? "gre:" + inner
                             : tunnel.kind == FORWARD_VXLAN ? "udp:vxlan:eth:ethertype:" + inner
                                                            : inner;
  const bool isGre = tunnel.kind == FORWARD_GRE, isVxlan = tunnel.kind == FORWARD_VXLAN;
  const auto most = std::to_string(isInnerIpv4 ? tunnel.mtu - 40 : tunnel.mtu - 60);
  const std::vector<std::string> values = {
      "eth:ethertype:" + family + ":" + within + (isSyn ? ":tcp" : ":udp:data"),
      both(true, textOf(ipv4(kLocal)), textOf(ipv4(kForeign + 1))),
      both(true, textOf(ipv4(kRemote)), textOf(ipv4(kProtected + 1))),
      both(true, "64", "63"),
      both(true, "0x00", "0x00"),
      both(true, "1", "1"),
      both(false, textOf(kLocal6), textOf(ipv6(9, 1))),
      both(false, textOf(kRemote6), textOf(ipv6(1, 1))),
      both(false, "64", "63"),
      isGre && tunnel.key != 0 ? hexOf(tunnel.key) : "",
      isVxlan ? std::to_string(tunnel.key) : "",
      std::string(isVxlan ? "4789" : "") + (isVxlan && !isSyn ? "," : "") + (isSyn ? "" : "53"),
      isSyn ? "1" : "",
      isSyn ? most : "",
      "",
      "",
      "",
      "",
      isSyn ? "Connection establish request (SYN): server port 40000" : "",
  };
  std::string line;
  for (const std::string& value : values) line += (line.empty() ? "" : "|") + value;
  return line;
}

bool hasNoTshark(const char* test) {
  if (std::system("command -v tshark >/dev/null") == 0) return false;  // NOLINT(cert-env33-c)
  std::printf("skipped: %s (needs tshark)\n", test);
  return true;
}

}  // namespace

TEST_CASE("tunnels by tshark: of every kind it takes out what went in, and finds no fault") {
  if (cannotRunXdp("tunnels by tshark") || hasNoTshark("tunnels by tshark")) return;
  std::vector<Bytes> frames;
  std::vector<std::string> wanted;
  for (const bool isOuterIpv4 : {true, false}) {
    for (const TunnelFields& fields :
         {TunnelFields{.kind = FORWARD_GRE, .isOuterIpv4 = isOuterIpv4},
          TunnelFields{.kind = FORWARD_GRE, .isOuterIpv4 = isOuterIpv4, .key = 0xdeadbeef},
          TunnelFields{.kind = FORWARD_IPIP, .isOuterIpv4 = isOuterIpv4},
          TunnelFields{.kind = FORWARD_VXLAN, .isOuterIpv4 = isOuterIpv4, .key = 0x123456}}) {
      inNewNamespace([&] {
        const ForwardBox box({tunnelOf(fields)});
        for (const bool isInnerIpv4 : {true, false}) {
          const std::uint32_t type = isInnerIpv4 ? 0x0800 : 0x86dd;
          frames.push_back(box.run(arriving(type, isInnerIpv4 ? ipv4Udp(300) : ipv6Udp(300))).frame);
          wanted.push_back(lineOf({fields, isInnerIpv4, Carried::udp}));
          frames.push_back(box.run(arriving(type, tcpPacket(isInnerIpv4, kSyn, mss(1460)))).frame);
          wanted.push_back(lineOf({fields, isInnerIpv4, Carried::syn}));
        }
      });
    }
  }
  const std::vector<std::string> lines = readByTshark(frames);
  for (std::size_t i = 0; i < lines.size(); i++) CHECK(lines[i] == wanted[i]);
}

TEST_CASE("tunnels by tshark: an answer to what is too big is whole, and has the MTU") {
  if (cannotRunXdp("tunnels by tshark, too big") || hasNoTshark("tunnels by tshark, too big")) return;
  std::vector<Bytes> frames;
  inNewNamespace([&] {
    const ForwardBox box({tunnelOf({.kind = FORWARD_GRE, .mtu = 1400})});
    frames.push_back(box.run(arriving(0x0800, ipv4Udp(1400, {.fragment = 0x4000}))).frame);
    frames.push_back(box.run(arriving(0x86dd, ipv6Udp(1400))).frame);
  });
  const std::vector<std::string> lines = readByTshark(frames);
  CHECK(lines[0] ==
        "eth:ethertype:ip:icmp:ip:udp:data|10.1.0.1,192.0.2.1|192.0.2.1,10.1.0.1|64,64|0x00,0x00|1,1||||||53|||1400|1||"
        "|");
  CHECK(lines[1] ==
        "eth:ethertype:ipv6:icmpv6:ipv6:udp:data||||||2001:db8:1::1,2001:db8:9::1|2001:db8:9::1,2001:db8:1::1|64,64|||"
        "53|||"
        "||1400|1|");
}
