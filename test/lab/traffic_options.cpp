#include "traffic_options.h"

#include <charconv>
#include <map>
#include <string_view>
#include <type_traits>

namespace floodwall::lab {

const char* const kUsage = R"(usage: traffic_source --dev DEVICE --dst ADDRESS [options]

Sends test traffic through one end of a veth pair, from inside a named network namespace (ip netns), and prints one
line of JSON with what it sent. It refuses to run in the namespace of the host.

  --profile NAME   udp, syn, ack, rst, dns (answers), query (of DNS, IPv4) or mixed (default udp)
  --dst ADDRESS    first destination; --hosts M sends to M addresses from there on, in turn
  --src ADDRESS    first source (default 198.18.0.1 or 2001:db8:ffff::1); --sources N as --hosts
  --ports P        client ports in turn, from 20000 on (default 1)
  --bytes N        length of a frame of udp without its check sum, 60 to 1514 (default 60; IPv6 at least 80)
  --pps N          packets per second, default 1000; 0 is as fast as it goes
  --seconds S      default 1, at most 3600
  --count N        stop after N packets, if that is sooner
  --mark N         also report when packet N was sent
  --path NAME      socket or live; by default live above 20000 packets per second
  --cpu N          pin the sending thread

live runs a BPF program over frames in the kernel and uses one CPU whole. Its frames arrive only if the far end of the
veth has an XDP program attached (any, also one that passes all on); without one they are lost, and this program says so.
socket sends through AF_PACKET; it needs nothing at the far end and leaves the CPU free between packets.

Output: path, packets and bytes handed to the device, device_drops (of these, not taken by the far end's queue),
first_packet_monotonic_ns (CLOCK_MONOTONIC), first_packet_wall_ns, duration_ns from the first packet to the last,
marked_packet_ns from the first packet to the one of --mark (0 without it, or if it was not sent), late_ns by which the
latest packet up to that one was late (of all without --mark).
)";

namespace {

template <typename Number>
Number number(std::string_view name, std::string_view text, Number least, Number most) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= least && value <= most)) {
    throw UsageError(std::string(name) + ": not a number from " + std::to_string(least) + " to " +
                     std::to_string(most) + ": " + std::string(text));
  }
  return value;
}

constexpr std::uint32_t kAddressesMax = 1U << 24;
constexpr std::uint16_t kPortsMax = 65536 - kFirstPort;
constexpr std::uint32_t kFrameBytesMin = 60, kFrameBytesMax = 1514;

using Setter = void (*)(TrafficOptions& options, std::string_view name, std::string_view value);

template <auto Field>
void text(TrafficOptions& options, std::string_view, std::string_view value) {
  options.*Field = value;
}

template <auto Field, auto Least, auto Most>
void between(TrafficOptions& options, std::string_view name, std::string_view value) {
  using Number = std::remove_reference_t<decltype(options.*Field)>;
  options.*Field = number<Number>(name, value, static_cast<Number>(Least), static_cast<Number>(Most));
}

using O = TrafficOptions;
const std::map<std::string_view, Setter> kSetters = {
    {"--dev", text<&O::device>},
    {"--profile", text<&O::profile>},
    {"--dst", text<&O::destination>},
    {"--src", text<&O::source>},
    {"--path", text<&O::path>},
    {"--hosts", between<&O::hosts, 1, kAddressesMax>},
    {"--sources", between<&O::sources, 1, kAddressesMax>},
    {"--ports", between<&O::ports, 1, kPortsMax>},
    {"--bytes", between<&O::frameBytes, kFrameBytesMin, kFrameBytesMax>},
    {"--pps", between<&O::packetsPerSecond, 0, 100'000'000>},
    {"--seconds", between<&O::seconds, 0, 3600>},
    {"--count", between<&O::packets, 1, std::uint64_t{1} << 40>},
    {"--mark", between<&O::markedPacket, 1, std::uint64_t{1} << 40>},
    {"--cpu", between<&O::cpu, 0, 1023>},
};

}  // namespace

TrafficOptions parseOptions(std::span<char* const> arguments) {
  TrafficOptions options;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    std::string_view name = arguments[i];
    if (i + 1 == arguments.size()) throw UsageError(std::string(name) + ": a value is missing");
    std::string_view value = arguments[i + 1];
    auto setter = kSetters.find(name);
    if (setter == kSetters.end()) throw UsageError("unknown option " + std::string(name));
    setter->second(options, name, value);
  }
  if (options.device.empty() || options.destination.empty()) throw UsageError("--dev and --dst are required");
  if (options.path.empty()) {
    bool isFast = options.packetsPerSecond == 0 || options.packetsPerSecond > 20000;
    options.path = isFast ? "live" : "socket";
  }
  if (options.path != "live" && options.path != "socket") throw UsageError("--path: live or socket");
  return options;
}

}  // namespace floodwall::lab
