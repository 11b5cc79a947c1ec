#include "sender_options.h"

#include <arpa/inet.h>

#include <charconv>
#include <map>
#include <string_view>

namespace floodwall::telemetry {

const char* const kUsage = R"(usage: record_sender --protocol NAME --port N [options]

Plays exporters of flow records or of sampled packets, and prints one line of JSON with what it sent.

  --protocol NAME  netflow5, netflow9, ipfix or sflow
  --to ADDRESS     of the collector, IPv4 (default 127.0.0.1); --port N (default 2055)
  --from ADDRESS   first exporter (default 127.0.1.1); --exporters N plays N of them, from consecutive addresses
  --rate R         records (samples) per second of all exporters; 0, the default, is as fast as it goes
  --seconds S      default 1; --records N stops after N, if that is sooner
  --per N          records a datagram (default 30 of NetFlow v5, 24 of v9 and IPFIX, 8 of sFlow)
  --first-host A   first destination (default 203.0.113.0); --hosts N sends to N of them (default 1000)
  --sampling N     the exporters say that they count one packet in N (default 1)
  --packets N      a record (default 1 to 16); --bytes N a frame (default 64 to 1514)
  --duration MS    of each flow, up to its export (default 0)
  --templates-every S  seconds between the templates of an exporter (default 1)
  --extra-templates N  further templates of each exporter, never used (default 0)
  --burst MS       what is due in this time leaves at once, at its end (default: evenly)
  --poisson        the gaps between datagrams are random, with the given mean rate
  --farewell       in the seconds after the end each exporter sends two more datagrams, by which losses show
  --mark N         also report when record N was sent
  --seed N         of the contents and of random gaps (default 1)
  --totals FILE    writes what each destination got, and each exporter sent, as JSON

sFlow samples carry a packet's first 128 bytes. The sequence numbers and clocks of each exporter are its own, and right.

Output: datagrams (templates too), records, bytes of UDP payload, refused (datagrams that the kernel did not take at
once, sent again), first_wall_ns, duration_ns from the first record to the last, marked_ns from the first record to
the one of --mark (0: not sent), late_ns by which the latest datagram was late.
)";

namespace {

using Setter = void (*)(SenderOptions&, std::string_view name, std::string_view value);

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

template <auto Field, auto Least, auto Most>
void between(SenderOptions& options, std::string_view name, std::string_view value) {
  using Number = std::remove_reference_t<decltype(options.*Field)>;
  options.*Field = number<Number>(name, value, static_cast<Number>(Least), static_cast<Number>(Most));
}

template <auto Field>
void address(SenderOptions& options, std::string_view name, std::string_view value) {
  in_addr parsed{};
  if (inet_pton(AF_INET, std::string(value).c_str(), &parsed) != 1) {
    throw UsageError(std::string(name) + ": not an IPv4 address: " + std::string(value));
  }
  options.*Field = ntohl(parsed.s_addr);
}

void protocol(SenderOptions& options, std::string_view name, std::string_view value) {
  static const std::map<std::string_view, Protocol> kNames = {{"netflow5", Protocol::netflow5},
                                                              {"netflow9", Protocol::netflow9},
                                                              {"ipfix", Protocol::ipfix},
                                                              {"sflow", Protocol::sflow}};
  auto found = kNames.find(value);
  if (found == kNames.end()) throw UsageError(std::string(name) + ": netflow5, netflow9, ipfix or sflow");
  options.protocol = found->second;
}

void totals(SenderOptions& options, std::string_view, std::string_view value) { options.totals = value; }

using O = SenderOptions;
const std::map<std::string_view, Setter> kSetters = {
    {"--protocol", protocol},
    {"--to", address<&O::destination>},
    {"--port", between<&O::port, 1, 65535>},
    {"--from", address<&O::source>},
    {"--exporters", between<&O::exporters, 1, 10'000>},
    {"--rate", between<&O::rate, 0, 1e9>},
    {"--seconds", between<&O::seconds, 0, 3600>},
    {"--records", between<&O::records, 1, std::uint64_t{1} << 40>},
    {"--per", between<&O::perDatagram, 1, 100>},
    {"--hosts", between<&O::hosts, 1, 1U << 24>},
    {"--first-host", address<&O::firstHost>},
    {"--sampling", between<&O::sampling, 1, 1'000'000>},
    {"--packets", between<&O::packets, 1, 1'000'000>},
    {"--bytes", between<&O::bytes, 64, 1514>},
    {"--duration", between<&O::durationMs, 0, 3'600'000>},
    {"--templates-every", between<&O::templatesEvery, 0, 3600>},
    {"--extra-templates", between<&O::extraTemplates, 0, 10'000>},
    {"--burst", between<&O::burstMs, 0, 60'000>},
    {"--mark", between<&O::markedRecord, 1, std::uint64_t{1} << 40>},
    {"--seed", between<&O::seed, 0, ~std::uint64_t{0}>},
    {"--totals", totals},
};

}  // namespace

SenderOptions parseOptions(std::span<char* const> arguments) {
  static constexpr std::uint32_t kRecordsMax[] = {30, 24, 24, 8};
  SenderOptions options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view name = arguments[i];
    if (name == "--poisson") {
      options.isPoisson = true;
      continue;
    }
    if (name == "--farewell") {
      options.hasFarewell = true;
      continue;
    }
    auto setter = kSetters.find(name);
    if (setter == kSetters.end()) throw UsageError("unknown option " + std::string(name));
    if (++i == arguments.size()) throw UsageError(std::string(name) + ": a value is missing");
    setter->second(options, name, arguments[i]);
  }
  std::uint32_t most = kRecordsMax[static_cast<int>(options.protocol)];
  if (options.perDatagram == 0) options.perDatagram = most;
  if (options.perDatagram > most) throw UsageError("--per: at most " + std::to_string(most) + " of this protocol");
  return options;
}

}  // namespace floodwall::telemetry
