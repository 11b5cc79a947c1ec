// Writes what TypeScript must know of this code as a TypeScript module: `make -C addon constants` puts it into
// src/native/constants.ts. TypeScript cannot ask the addon itself: a configuration is checked, and the
// dashboard is built, where there is no addon.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "../binding/constants.h"
#include "capture/xsk_socket.h"
#include "collector/exporter_rules.h"
#include "collector/flow_limits.h"
#include "count/engine.h"
#include "filter/pair_table.h"
#include "filter/rule_table.h"
#include "flow/flow_exporter_status.h"
#include "named_sets_abi.h"
#include "parse/not_ip_kind.h"
#include "parse/packet_parser.h"
#include "program/program_load.h"
#include "record_abi.h"

using namespace floodwall;
using namespace floodwall::binding;

namespace {

/// As Biome formats the project.
constexpr std::size_t kLineMax = 120;

std::string digitsOf(std::uint64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < 5) return digits;
  for (std::size_t at = digits.size() - 3; at < digits.size(); at -= 3) {
    if (at != 0) digits.insert(at, "_");
    if (at < 3) break;
  }
  return digits;
}

void say(const char* comment) { std::printf("/** %s */\n", comment); }

void number(const char* name, std::uint64_t value) {
  std::printf("export const %s = %s;\n", name, digitsOf(value).c_str());
}

void names(const char* name, std::span<const char* const> values) {
  std::string line = "export const " + std::string(name) + " = [";
  for (const char* value : values) line += (line.back() == '[' ? "\"" : ", \"") + std::string(value) + "\"";
  line += "] as const;";
  if (line.size() <= kLineMax) {
    std::printf("%s\n", line.c_str());
    return;
  }
  std::printf("export const %s = [\n", name);
  for (const char* value : values) std::printf("  \"%s\",\n", value);
  std::printf("] as const;\n");
}

using Field = std::pair<const char*, std::uint64_t>;

void object(const char* name, std::initializer_list<Field> fields) {
  std::printf("export const %s = {\n", name);
  for (const auto& [field, value] : fields) std::printf("  %s: %s,\n", field, digitsOf(value).c_str());
  std::printf("} as const;\n");
}

void printFlowBounds() {
  say("Threads of a source of flow telemetry, and bytes of the receive buffer of each.");
  number("FLOW_THREADS_MAX", kFlowThreadsMax);
  number("RECEIVE_BUFFER_MAX", kReceiveBufferMax);
  say("Exporters of a source, those of a source without rules, rules of exporters, and of them those of one site.");
  number("EXPORTERS_MAX", kExportersMax);
  number("UNLISTED_EXPORTERS_MAX", kUnlistedExportersMax);
  number("EXPORTER_RULES_MAX", kExporterRulesMax);
  number("SITE_RULES_MAX", kSiteRulesMax);
  say("Interfaces of an exporter that are counted one by one, and texts that name its external or internal ones.");
  number("EXPORTER_INTERFACES_MAX", kExporterInterfacesMax);
  number("INTERFACE_PATTERNS_MAX", kInterfacePatternsMax);
}

void printBounds() {
  say("Hosts that an engine tracks at most.");
  number("HOSTS_MAX", kHostsMax);
  say("Windows and ticks of an engine, ms; and the longest time after which an idle host leaves it.");
  number("WINDOW_MS_MIN", kWindowMsMin);
  number("WINDOW_MS_MAX", kWindowMsMax);
  number("TICK_MS_MIN", kTickMsMin);
  number("TICK_MS_MAX", kTickMsMax);
  number("IDLE_MS_MAX", kIdleMsMax);
  say("Prefixes of a table of networks; networks and groups are as many at most.");
  number("TABLE_PREFIXES_MAX", kPrefixesMax);
  say("Hosts that one tick hands over, and hosts that are handed over and sampled whatever their rates.");
  number("SCREENED_ROWS_MAX", kScreenedMax);
  number("WATCHED_HOSTS_MAX", kWatchedMax);
  say("Hosts of which packets from before an attack are kept; each worker that begins late has some of its own.");
  number("PROFILED_HOSTS_MAX", kProfiledHostsMax);
  say("The largest number of a CPU that a worker can be pinned to, and of a queue.");
  number("CPU_NUMBER_MAX", kCpuMax);
  number("QUEUE_NUMBER_MAX", kQueueMax);
  say("Sampling rate of a source of frames: one in this number at most.");
  number("SAMPLING_RATE_MAX", kFrameSamplingRateMax);
  say("UDP ports at which a source takes VXLAN apart, and the one where no others are named.");
  number("VXLAN_PORTS_MAX", VXLAN_PORTS_MAX);
  number("VXLAN_PORT", PORT_VXLAN);
  say("MAC addresses of an interface's frames that lead to other networks.");
  number("EXTERNAL_SENDERS_MAX", kExternalSendersMax);
  say("Memory that AF_XDP locks for a queue at the usual MTU, bytes; twice as much for longer packets.");
  number("LOCKED_BYTES_PER_QUEUE", std::uint64_t{kXskBuffers} * kSmallBuffer);
  say("The oldest Linux that takes the XDP programs.");
  object("LEAST_KERNEL", {{"major", kLeastMajor}, {"minor", kLeastMinor}});
  say("Pairs of a filter, its rules, and the prefixes of each of its lists.");
  number("FILTER_ENTRIES_MAX", kFilterEntriesMax);
  say("Known sources that a filter can be given at most.");
  number("FILTER_SOURCES_MAX", kFilterSourcesMax);
  say("Named sets of a filter, and prefixes of all of them together.");
  number("NAMED_SETS_MAX", NAMED_SETS_MAX);
  number("NAMED_PREFIXES_MAX", kNamedPrefixesMax);
  say("Rules of a filter with one destination, or with none.");
  number("FILTER_RULES_PER_DESTINATION_MAX", FILTER_PREFIX_ENTRIES);
  say("Port ranges of a rule on each side, and bytes of its identifier.");
  number("FILTER_PORT_RANGES_MAX", FILTER_PORT_RANGES);
  number("FILTER_RULE_ID_BYTES_MAX", WantedRule::kIdBytesMax);
  say("Rules that can ask for payload and what else filter_details has, and what each can ask for.");
  number("DETAILED_RULES_MAX", DETAILS_RULES_MAX);
  number("PAYLOAD_BYTES_MAX", DETAILS_PAYLOAD);
  number("PATTERN_BYTES_MAX", DETAILS_PATTERN_BYTES);
  number("PATTERNS_MAX", DETAILS_PATTERNS);
  number("LENGTH_RANGES_MAX", DETAILS_LENGTHS);
  say("Entries of the operator's rules: each has one for each destination.");
  number("OPERATOR_ENTRIES_MAX", FILTER_OPERATOR_ENTRIES);
  say("Version of the filter's pinned maps: others are replaced.");
  number("FILTER_SCHEMA", FILTER_SCHEMA);
  say("Tunnels that packets can be forwarded into.");
  number("FORWARD_TUNNELS_MAX", FORWARD_TUNNELS_MAX);
  printFlowBounds();
}

void printNames() {
  say("In the order in which thresholds are judged, and in which the columns of rates have them.");
  names("METRICS", kMetricNames);
  say("Why a frame is counted to no host.");
  names("PARSE_ERRORS", kParseErrorNames);
  say("Kinds of frames that are not IP.");
  names("NOT_IP_KINDS", kNotIpKindNames);
  say("Encapsulations that packets can be taken out of.");
  names("ENCAPSULATIONS", kEncapsulationNames);
  say("Verdicts of the filter: exactly one for each packet.");
  names("FILTER_VERDICTS", kVerdicts);
  say("Actions of a rule of the filter, in the order of their numbers in RULE_RECORD.");
  names("RULE_ACTIONS", kRuleActions);
  say("Values of options and states, see native.d.ts.");
  names("CLOCKS", kClocks);
  names("SOURCE_STATES", kSourceStates);
  names("XDP_MODES", kXdpModes);
  names("ZERO_COPIES", kZeroCopies);
  names("PACES", kPaces);
  names("XDP_FEATURES", kXdpFeatures);
  names("FILTER_ORIGINS", kFilterOrigins);
  names("FILTER_ENDS", kFilterEnds);
  names("PINNED_STATES", kPinnedStates);
  say("Outcomes of a passed packet where it is forwarded: exactly one; and kinds of tunnels.");
  names("FORWARD_OUTCOMES", kForwardOutcomes);
  names("TUNNEL_KINDS", kTunnelKinds);
  say("Flow telemetry: see native-flow.d.ts.");
  names("FLOW_PROTOCOLS", kFlowProtocolNames);
  names("FLOW_DIRECTIONS", kRuleDirections);
  names("FLOW_LEFT_OUT", kLeftOutNames);
  names("FLOW_TRAITS", kFlowTraitNames);
  names("FLOW_NOT_FOR_US", kNotForUsNames);
  names("INTERFACE_ROLES", kInterfaceRoleNames);
  names("FLOW_UNDECODED", kUndecodedKindNames);
  names("SAMPLING_ORIGINS", kSamplingOrigins);
}

void printReportedFields() {
  say("Fields that an exporter reported of a sampled header (abi/flow_fields_abi.h): place in its record, and bytes.");
  std::printf("export const REPORTED_FIELDS = {\n");
#define IN_SAMPLE(name, ...) \
  std::printf("  %s: { at: %zu, bytes: %zu },\n", #name, offsetof(sample_record, name), sizeof(sample_record::name));
#include "flow_fields_abi.h"
  std::printf("} as const;\n");
}

void printRecords() {
  say("A sampled header (sample_record): its size, where its fields begin, and how much of a frame it holds.");
  object("SAMPLE_RECORD", {{"bytes", sizeof(sample_record)},
                           {"wireBytes", offsetof(sample_record, wire_bytes)},
                           {"capturedBytes", offsetof(sample_record, captured_bytes)},
                           {"ageMs", offsetof(sample_record, age_ms)},
                           {"direction", offsetof(sample_record, direction)},
                           {"verdict", offsetof(sample_record, verdict)},
                           {"standsFor", offsetof(sample_record, stands_for)},
                           {"frame", offsetof(sample_record, frame)},
                           {"frameBytes", sizeof(sample_record::frame)},
                           {"isMade", offsetof(sample_record, is_made)},
                           {"protocol", offsetof(sample_record, protocol)},
                           {"tcpFlags", offsetof(sample_record, tcp_flags)},
                           {"headerBits", offsetof(sample_record, header_bits)},
                           {"sourcePort", offsetof(sample_record, source_port)},
                           {"destinationPort", offsetof(sample_record, destination_port)},
                           {"source", offsetof(sample_record, source)},
                           {"destination", offsetof(sample_record, destination)},
                           {"packetBytes", offsetof(sample_record, packet_bytes)},
                           {"ttl", offsetof(sample_record, ttl)}});
  printReportedFields();
  say("headerBits of a record: which fields are known, which fragment it is, and the family of a profile's source.");
  object("HEADER_BITS", {{"ports", RECORD_PORTS},
                         {"tcpFlags", RECORD_TCP_FLAGS},
                         {"firstFragment", RECORD_FIRST_FRAGMENT},
                         {"laterFragment", RECORD_LATER_FRAGMENT},
                         {"ipv6", RECORD_IPV6}});
  say("The hosts whose samples are wanted (sample_place): by address and length, or by group.");
  object("SAMPLE_PLACE", {{"bytes", sizeof(sample_place)},
                          {"address", offsetof(sample_place, address)},
                          {"group", offsetof(sample_place, group)},
                          {"length", offsetof(sample_place, length)},
                          {"direction", offsetof(sample_place, direction)},
                          {"noGroup", RECORD_NO_GROUP}});
  say("A packet that a host received before it was attacked (profile_record), and all of a host (profile_row).");
  object("PROFILE_RECORD", {{"bytes", sizeof(profile_record)},
                            {"source", offsetof(profile_record, source)},
                            {"sourcePort", offsetof(profile_record, source_port)},
                            {"destinationPort", offsetof(profile_record, destination_port)},
                            {"packetBytes", offsetof(profile_record, packet_bytes)},
                            {"frameBytes", offsetof(profile_record, frame_bytes)},
                            {"ttl", offsetof(profile_record, ttl)},
                            {"protocol", offsetof(profile_record, protocol)},
                            {"tcpFlags", offsetof(profile_record, tcp_flags)},
                            {"headerBits", offsetof(profile_record, header_bits)},
                            {"standsFor", offsetof(profile_record, stands_for)}});
  object("PROFILE_ROW", {{"bytes", sizeof(profile_row)},
                         {"address", offsetof(profile_row, address)},
                         {"count", offsetof(profile_row, count)},
                         {"records", offsetof(profile_row, records)},
                         {"recordsMax", PROFILE_PACKETS}});
  say("A rule of the filter (rule_record): its size, where its fields begin, and the size of a port range.");
  object("RULE_RECORD", {{"bytes", sizeof(rule_record)},
                         {"expiresAtMs", offsetof(rule_record, expires_at_ms)},
                         {"bytesPerSecond", offsetof(rule_record, bytes_per_second)},
                         {"packetsPerSecond", offsetof(rule_record, packets_per_second)},
                         {"destination", offsetof(rule_record, destination)},
                         {"source", offsetof(rule_record, source)},
                         {"destinationLength", offsetof(rule_record, destination_length)},
                         {"sourceLength", offsetof(rule_record, source_length)},
                         {"asks", offsetof(rule_record, asks)},
                         {"protocol", offsetof(rule_record, protocol)},
                         {"fragment", offsetof(rule_record, fragment)},
                         {"flagsSet", offsetof(rule_record, flags_set)},
                         {"flagsUnset", offsetof(rule_record, flags_unset)},
                         {"sourcePorts", offsetof(rule_record, source_ports)},
                         {"destinationPorts", offsetof(rule_record, destination_ports)},
                         {"action", offsetof(rule_record, action)},
                         {"isDryRun", offsetof(rule_record, is_dry_run)},
                         {"limitLength", offsetof(rule_record, limit_length)},
                         {"lengthMin", offsetof(rule_record, length_min)},
                         {"lengthMax", offsetof(rule_record, length_max)},
                         {"sourceRanges", offsetof(rule_record, source_ranges)},
                         {"destinationRanges", offsetof(rule_record, destination_ranges)},
                         {"details", offsetof(rule_record, details)},
                         {"protocols", offsetof(rule_record, protocols)},
                         {"rangeBytes", sizeof(filter_ports)},
                         {"rangeTo", offsetof(filter_ports, to)}});
  say("Fields that few rules have beside that (filter_details): their size, and where they begin.");
  object("DETAILS_RECORD", {{"bytes", sizeof(filter_details)},
                            {"asks", offsetof(filter_details, asks)},
                            {"ttlFrom", offsetof(filter_details, ttl_from)},
                            {"ttlTo", offsetof(filter_details, ttl_to)},
                            {"patterns", offsetof(filter_details, patterns)},
                            {"windowFrom", offsetof(filter_details, window_from)},
                            {"windowTo", offsetof(filter_details, window_to)},
                            {"optionsSet", offsetof(filter_details, options_set)},
                            {"optionsUnset", offsetof(filter_details, options_unset)},
                            {"dscp", offsetof(filter_details, dscp)},
                            {"inSets", offsetof(filter_details, in_sets)},
                            {"notInSets", offsetof(filter_details, not_in_sets)},
                            {"lengths", offsetof(filter_details, lengths)},
                            {"lengthBytes", sizeof(details_lengths)},
                            {"lengthTo", offsetof(details_lengths, to)},
                            {"pattern", offsetof(filter_details, pattern)},
                            {"patternBytes", sizeof(details_pattern)},
                            {"patternOffset", offsetof(details_pattern, offset)},
                            {"patternLength", offsetof(details_pattern, length)},
                            {"patternMask", offsetof(details_pattern, mask)},
                            {"patternValue", offsetof(details_pattern, value)}});
  object("DETAILS_ASKS", {{"ttl", DETAILS_ASK_TTL},
                          {"dscp", DETAILS_ASK_DSCP},
                          {"window", DETAILS_ASK_WINDOW},
                          {"options", DETAILS_ASK_OPTIONS},
                          {"lengths", DETAILS_ASK_LENGTHS},
                          {"payload", DETAILS_ASK_PAYLOAD},
                          {"sets", DETAILS_ASK_SETS}});
  say("That a rule is the operator's, for a destination (operator_entry_record).");
  object("OPERATOR_ENTRY", {{"bytes", sizeof(operator_entry_record)},
                            {"destination", offsetof(operator_entry_record, destination)},
                            {"rule", offsetof(operator_entry_record, rule)},
                            {"destinationLength", offsetof(operator_entry_record, destination_length)}});
  say("The length of a prefix that a rule does not have.");
  number("RULE_NO_PREFIX", RECORD_NO_PREFIX);
  say("Conditions of a rule on a packet beside its addresses and ports.");
  object("RULE_ASKS", {{"protocol", FILTER_ASKS_PROTOCOL},
                       {"fragment", FILTER_ASKS_FRAGMENT},
                       {"flags", FILTER_ASKS_FLAGS},
                       {"length", FILTER_ASKS_LENGTH},
                       {"protocols", FILTER_ASKS_PROTOCOLS}});
  say("Bytes of a pair, source and victim; columns of a pair that is read, and of a rule.");
  number("PAIR_BYTES", sizeof(PairKey));
  number("PAIR_COLUMNS", kPairColumns);
  number("RULE_COLUMNS", kRuleColumns);
  say("Outcomes of the packets to a watched destination, two columns each: packets and bytes.");
  names("PACKET_OUTCOMES", kPacketOutcomes);
  say("Destinations that can be watched.");
  number("WATCHED_DESTINATIONS_MAX", OUTCOME_DESTINATIONS_MAX);
}

}  // namespace

int main() {
  std::printf(
      "/**\n"
      " * Bounds, names and layouts that the addon defines. Written by `make -C addon constants` from the headers in "
      "addon/:\n"
      " * change them there. A module of its own, since a configuration is checked where the addon is not to be had.\n"
      " */\n\n");
  printBounds();
  std::printf("\n");
  printNames();
  std::printf("\n");
  printRecords();
}
