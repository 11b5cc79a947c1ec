#include "traffic_profile.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace floodwall::lab {

namespace {

constexpr std::uint8_t kEthernet = 14;
constexpr std::uint8_t kSyn = 0x02;
constexpr std::uint8_t kRst = 0x04;
constexpr std::uint8_t kAck = 0x10;
constexpr std::uint16_t kHttp = 80;

/// Both ends of the traffic; IPv4 addresses are the first four bytes.
struct Ends {
  bool isIpv6 = false;
  std::array<std::uint8_t, 16> source{};
  std::array<std::uint8_t, 16> destination{};
};

/// One kind of frame of a profile. Offsets are counted from the start of the frame.
class FrameTemplate {
 public:
  FrameTemplate(const Ends& ends, std::uint8_t protocol, std::uint16_t length) : protocol_(protocol) {
    frame_.length = ends.isIpv6 ? std::max<std::uint16_t>(length, TRAFFIC_HEADER_BYTES) : length;
    // The far end of the first pair of a test's namespaces, and the near one.
    constexpr std::array<std::uint8_t, 12> kMacs{0x02, 0, 0, 0, 0, 0x02, 0x02, 0, 0, 0, 0, 0x01};
    std::copy(kMacs.begin(), kMacs.end(), frame_.header);
    ends.isIpv6 ? writeIpv6(ends) : writeIpv4(ends);
  }

  void udp(std::uint16_t sourcePort, std::uint16_t destinationPort) {
    put16(payload_, sourcePort);
    put16(payload_ + 2, destinationPort);
    put16(payload_ + 4, static_cast<std::uint16_t>(frame_.length - payload_));
    setCheck(6);
  }

  void dnsAnswer() {
    put16(payload_ + 8, 0x1234);
    put16(payload_ + 10, 0x8180);
    put16(payload_ + 12, 1);
    put16(payload_ + 14, 10);
  }

  /// Of the A record of `abcdefg.example`.
  void dnsQuery() {
    put16(payload_ + 8, 0x1234);
    put16(payload_ + 10, 0x0100);
    put16(payload_ + 12, 1);
    constexpr std::array<std::uint8_t, 17> kName{7,   'a', 'b', 'c', 'd', 'e', 'f', 'g', 7,
                                                 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0};
    std::copy(kName.begin(), kName.end(), frame_.header + payload_ + 20);
    put16(payload_ + 37, 1);
    put16(payload_ + 39, 1);
  }

  void tcp(std::uint16_t destinationPort, std::uint8_t flags) {
    put16(payload_ + 2, destinationPort);
    put32(payload_ + 4, 0x12345678);
    put8(payload_ + 12, 5 << 4);
    put8(payload_ + 13, flags);
    put16(payload_ + 14, 64240);
    setCheck(16);
  }

  void echoRequest() {
    put8(payload_, isIpv6() ? 128 : 8);
    put16(payload_ + 4, 1);
    setCheck(2);
  }

  /// The client's port varies; where it stands depends on who asks and who answers.
  void varyPort(std::uint8_t offsetInHeader) {
    frame_.port_offset = static_cast<std::uint8_t>(payload_ + offsetInHeader);
    std::memset(frame_.header + frame_.port_offset, 0, 2);
  }

  /// The sums leave out what varies: the last four bytes of both addresses, the port and the sum itself.
  [[nodiscard]] traffic_template finish() {
    std::memset(frame_.header + frame_.source_offset, 0, 4);
    std::memset(frame_.header + frame_.destination_offset, 0, 4);
    if (frame_.ip_check_offset != 0) frame_.ip_sum = sum(kEthernet, kEthernet + 20);
    if (frame_.l4_check_offset == 0) return frame_;
    frame_.l4_sum = sum(payload_, TRAFFIC_HEADER_BYTES);
    bool hasPseudoHeader = protocol_ != IPPROTO_ICMP;
    if (hasPseudoHeader) {
      frame_.l4_sum += isIpv6() ? sum(kEthernet + 8, kEthernet + 40) : sum(kEthernet + 12, kEthernet + 20);
      frame_.l4_sum += protocol_ + static_cast<std::uint32_t>(frame_.length - payload_);
    } else {
      // The sum of an ICMP message covers no address: it is the same in all frames, and goes into the template.
      std::uint16_t constant = traffic_check_sum(frame_.l4_sum, 0, 0, 0);
      put16(frame_.l4_check_offset, constant);
      frame_.l4_check_offset = 0;
    }
    return frame_;
  }

 private:
  [[nodiscard]] bool isIpv6() const { return frame_.ip_check_offset == 0; }
  void put8(int offset, std::uint8_t value) { frame_.header[offset] = value; }
  void put16(int offset, std::uint16_t value) {
    put8(offset, static_cast<std::uint8_t>(value >> 8));
    put8(offset + 1, static_cast<std::uint8_t>(value));
  }
  void put32(int offset, std::uint32_t value) {
    put16(offset, static_cast<std::uint16_t>(value >> 16));
    put16(offset + 2, static_cast<std::uint16_t>(value));
  }
  [[nodiscard]] std::uint32_t sum(int from, int to) const {
    std::uint32_t total = 0;
    for (int i = from; i < to; i += 2) {
      total += static_cast<std::uint32_t>(frame_.header[i] << 8 | frame_.header[i + 1]);
    }
    return total;
  }
  void setCheck(std::uint8_t offsetInHeader) {
    frame_.l4_check_offset = static_cast<std::uint8_t>(payload_ + offsetInHeader);
  }

  void writeIpv4(const Ends& ends) {
    put16(12, 0x0800);
    put8(kEthernet, 0x45);
    put16(kEthernet + 2, static_cast<std::uint16_t>(frame_.length - kEthernet));
    put8(kEthernet + 8, 64);
    put8(kEthernet + 9, protocol_);
    std::copy_n(ends.source.begin(), 4, frame_.header + kEthernet + 12);
    std::copy_n(ends.destination.begin(), 4, frame_.header + kEthernet + 16);
    frame_.ip_check_offset = kEthernet + 10;
    frame_.source_offset = kEthernet + 12;
    frame_.destination_offset = kEthernet + 16;
    payload_ = kEthernet + 20;
  }

  void writeIpv6(const Ends& ends) {
    put16(12, 0x86dd);
    put8(kEthernet, 0x60);
    put16(kEthernet + 4, static_cast<std::uint16_t>(frame_.length - kEthernet - 40));
    put8(kEthernet + 6, protocol_);
    put8(kEthernet + 7, 64);
    std::copy_n(ends.source.begin(), 16, frame_.header + kEthernet + 8);
    std::copy_n(ends.destination.begin(), 16, frame_.header + kEthernet + 24);
    frame_.source_offset = kEthernet + 20;
    frame_.destination_offset = kEthernet + 36;
    payload_ = kEthernet + 40;
  }

  traffic_template frame_{};
  std::uint8_t protocol_;
  std::uint8_t payload_ = 0;
};

using Templates = std::vector<traffic_template>;

traffic_template udpFrame(const Ends& ends, std::uint16_t length, std::uint16_t service = kHttp) {
  FrameTemplate frame(ends, IPPROTO_UDP, length);
  frame.udp(0, service);
  frame.varyPort(0);
  return frame.finish();
}

traffic_template tcpFrame(const Ends& ends, std::uint16_t length, std::uint8_t flags) {
  FrameTemplate frame(ends, IPPROTO_TCP, length);
  frame.tcp(kHttp, flags);
  frame.varyPort(0);
  return frame.finish();
}

traffic_template dnsFrame(const Ends& ends, std::uint16_t length) {
  FrameTemplate frame(ends, IPPROTO_UDP, length);
  frame.udp(53, 0);
  frame.dnsAnswer();
  frame.varyPort(2);
  return frame.finish();
}

traffic_template queryFrame(const Ends& ends) {
  FrameTemplate frame(ends, IPPROTO_UDP, kEthernet + 20 + 8 + 12 + 17 + 4);
  frame.udp(0, 53);
  frame.dnsQuery();
  frame.varyPort(0);
  return frame.finish();
}

traffic_template icmpFrame(const Ends& ends, std::uint16_t length) {
  FrameTemplate frame(ends, ends.isIpv6 ? std::uint8_t{IPPROTO_ICMPV6} : std::uint8_t{IPPROTO_ICMP}, length);
  frame.echoRequest();
  return frame.finish();
}

/// Harmless traffic: mostly established TCP, some UDP and DNS answers, a little of the rest.
Templates mixedFrames(const Ends& ends) {
  return {tcpFrame(ends, 60, kAck), tcpFrame(ends, 1514, kAck), udpFrame(ends, 200), tcpFrame(ends, 900, kAck),
          tcpFrame(ends, 60, kSyn), udpFrame(ends, 1200, 443),  dnsFrame(ends, 180), icmpFrame(ends, 98)};
}

Templates profileFrames(const TrafficOptions& options, const Ends& ends) {
  const std::string& profile = options.profile;
  if (profile == "udp") return {udpFrame(ends, static_cast<std::uint16_t>(options.frameBytes))};
  if (profile == "syn") return {tcpFrame(ends, 60, kSyn)};
  if (profile == "ack") return {tcpFrame(ends, 60, kAck)};
  if (profile == "rst") return {tcpFrame(ends, 60, kRst)};
  if (profile == "query") return {queryFrame(ends)};
  if (profile == "dns") return {dnsFrame(ends, 1400)};
  if (profile == "mixed") return mixedFrames(ends);
  throw UsageError("--profile: unknown profile " + profile);
}

std::array<std::uint8_t, 16> parseAddress(const std::string& text, bool isIpv6) {
  std::array<std::uint8_t, 16> bytes{};
  if (inet_pton(isIpv6 ? AF_INET6 : AF_INET, text.c_str(), bytes.data()) != 1) {
    throw UsageError("not an address of the destination's family: " + text);
  }
  return bytes;
}

std::uint32_t lastFourBytes(const std::array<std::uint8_t, 16>& address, bool isIpv6) {
  std::uint32_t word = 0;
  std::memcpy(&word, address.data() + (isIpv6 ? 12 : 0), 4);
  return ntohl(word);
}

std::uint32_t firstOf(std::uint32_t base, std::uint32_t count, const char* option) {
  if (base + (count - 1) < base) throw UsageError(std::string(option) + ": the addresses go beyond the last one");
  return base;
}

}  // namespace

traffic_plan makePlan(const TrafficOptions& options) {
  Ends ends;
  ends.isIpv6 = options.destination.find(':') != std::string::npos;
  const char* defaultSource = ends.isIpv6 ? "2001:db8:ffff::1" : "198.18.0.1";
  ends.destination = parseAddress(options.destination, ends.isIpv6);
  ends.source = parseAddress(options.source.empty() ? defaultSource : options.source, ends.isIpv6);

  Templates frames = profileFrames(options, ends);
  traffic_plan plan{};
  std::copy(frames.begin(), frames.end(), plan.templates);
  plan.template_count = static_cast<std::uint32_t>(frames.size());
  plan.source_base = firstOf(lastFourBytes(ends.source, ends.isIpv6), options.sources, "--sources");
  plan.source_count = options.sources;
  plan.destination_base = firstOf(lastFourBytes(ends.destination, ends.isIpv6), options.hosts, "--hosts");
  plan.destination_count = options.hosts;
  plan.port_base = kFirstPort;
  plan.port_count = options.ports;
  for (const traffic_template& frame : frames)
    plan.frame_bytes = std::max<std::uint32_t>(plan.frame_bytes, frame.length);
  return plan;
}

}  // namespace floodwall::lab
