/**
 * Bounds, names and layouts that the addon defines. Written by `make -C addon constants` from the headers in addon/:
 * change them there. A module of its own, since a configuration is checked where the addon is not to be had.
 */

/** Hosts that an engine tracks at most. */
export const HOSTS_MAX = 16_000_000;
/** Windows and ticks of an engine, ms; and the longest time after which an idle host leaves it. */
export const WINDOW_MS_MIN = 200;
export const WINDOW_MS_MAX = 60_000;
export const TICK_MS_MIN = 20;
export const TICK_MS_MAX = 1000;
export const IDLE_MS_MAX = 3_600_000;
/** Prefixes of a table of networks; networks and groups are as many at most. */
export const TABLE_PREFIXES_MAX = 200_000;
/** Hosts that one tick hands over, and hosts that are handed over and sampled whatever their rates. */
export const SCREENED_ROWS_MAX = 8192;
export const WATCHED_HOSTS_MAX = 1024;
/** Hosts of which packets from before an attack are kept; each worker that begins late has some of its own. */
export const PROFILED_HOSTS_MAX = 32_768;
/** The largest number of a CPU that a worker can be pinned to, and of a queue. */
export const CPU_NUMBER_MAX = 1023;
export const QUEUE_NUMBER_MAX = 4095;
/** Sampling rate of a source of frames: one in this number at most. */
export const SAMPLING_RATE_MAX = 1_000_000;
/** UDP ports at which a source takes VXLAN apart, and the one where no others are named. */
export const VXLAN_PORTS_MAX = 4;
export const VXLAN_PORT = 4789;
/** MAC addresses of an interface's frames that lead to other networks. */
export const EXTERNAL_SENDERS_MAX = 16;
/** Memory that AF_XDP locks for a queue at the usual MTU, bytes; twice as much for longer packets. */
export const LOCKED_BYTES_PER_QUEUE = 16_777_216;
/** The oldest Linux that takes the XDP programs. */
export const LEAST_KERNEL = {
  major: 5,
  minor: 18,
} as const;
/** Pairs of a filter, its rules, and the prefixes of each of its lists. */
export const FILTER_ENTRIES_MAX = 4_194_304;
/** Known sources that a filter can be given at most. */
export const FILTER_SOURCES_MAX = 16_777_216;
/** Named sets of a filter, and prefixes of all of them together. */
export const NAMED_SETS_MAX = 64;
export const NAMED_PREFIXES_MAX = 2_000_000;
/** Rules of a filter with one destination, or with none. */
export const FILTER_RULES_PER_DESTINATION_MAX = 255;
/** Port ranges of a rule on each side, and bytes of its identifier. */
export const FILTER_PORT_RANGES_MAX = 5;
export const FILTER_RULE_ID_BYTES_MAX = 63;
/** Rules that can ask for payload and what else filter_details has, and what each can ask for. */
export const DETAILED_RULES_MAX = 1024;
export const PAYLOAD_BYTES_MAX = 128;
export const PATTERN_BYTES_MAX = 32;
export const PATTERNS_MAX = 2;
export const LENGTH_RANGES_MAX = 8;
/** Entries of the operator's rules: each has one for each destination. */
export const OPERATOR_ENTRIES_MAX = 16_384;
/** Version of the filter's pinned maps: others are replaced. */
export const FILTER_SCHEMA = 13;
/** Tunnels that packets can be forwarded into. */
export const FORWARD_TUNNELS_MAX = 64;
/** Threads of a source of flow telemetry, and bytes of the receive buffer of each. */
export const FLOW_THREADS_MAX = 64;
export const RECEIVE_BUFFER_MAX = 1_073_741_824;
/** Exporters of a source, those of a source without rules, rules of exporters, and of them those of one site. */
export const EXPORTERS_MAX = 4096;
export const UNLISTED_EXPORTERS_MAX = 64;
export const EXPORTER_RULES_MAX = 4096;
export const SITE_RULES_MAX = 64;
/** Interfaces of an exporter that are counted one by one, and texts that name its external or internal ones. */
export const EXPORTER_INTERFACES_MAX = 512;
export const INTERFACE_PATTERNS_MAX = 256;

/** In the order in which thresholds are judged, and in which the columns of rates have them. */
export const METRICS = [
  "pps",
  "mbps",
  "flows_per_sec",
  "tcp_pps",
  "tcp_mbps",
  "udp_pps",
  "udp_mbps",
  "icmp_pps",
  "icmp_mbps",
  "tcp_syn_pps",
  "tcp_syn_mbps",
  "frag_pps",
  "frag_mbps",
] as const;
/** Why a frame is counted to no host. */
export const PARSE_ERRORS = [
  "truncated_ethernet",
  "too_many_vlan_tags",
  "not_ip",
  "truncated_ipv4",
  "bad_ipv4_header",
  "truncated_ipv6",
  "bad_ipv6_header",
] as const;
/** Kinds of frames that are not IP. */
export const NOT_IP_KINDS = [
  "arp",
  "lldp",
  "lacp",
  "stp",
  "llc",
  "pppoe_discovery",
  "pppoe",
  "mpls",
  "macsec",
  "fcoe",
  "other",
] as const;
/** Encapsulations that packets can be taken out of. */
export const ENCAPSULATIONS = ["mpls", "pppoe", "gre", "erspan", "ipip", "6in4", "vxlan", "geneve", "gtp_u"] as const;
/** Verdicts of the filter: exactly one for each packet. */
export const FILTER_VERDICTS = [
  "pass_not_ip",
  "pass_malformed",
  "pass_allowlist",
  "pass_whitelist",
  "pass_rate_limit",
  "pass_rule",
  "pass_icmp",
  "pass_default",
  "drop_source",
  "drop_rule",
  "drop_rate_limit",
  "drop_source_limit",
  "drop_unvalidated",
  "drop_unasked",
  "drop_proof",
  "drop_tags",
  "answer_syn_ack",
  "answer_ack",
  "answer_rst",
  "answer_truncated",
] as const;
/** Actions of a rule of the filter, in the order of their numbers in RULE_RECORD. */
export const RULE_ACTIONS = [
  "discard",
  "rate_limit",
  "learn",
  "validate_reset",
  "validate_transparent",
  "pass",
  "limit_source",
  "validate_dns",
  "learn_question",
  "require_question",
  "count",
  "limit",
  "limit_destination",
] as const;
/** Values of options and states, see native.d.ts. */
export const CLOCKS = ["monotonic", "capture"] as const;
export const SOURCE_STATES = ["running", "failed", "ended"] as const;
export const XDP_MODES = ["auto", "native", "generic"] as const;
export const ZERO_COPIES = ["auto", "on", "off"] as const;
export const PACES = ["real", "max"] as const;
export const XDP_FEATURES = [
  "basic",
  "redirect",
  "takes_redirects",
  "zero_copy",
  "offload",
  "fragments",
  "takes_fragments",
] as const;
export const FILTER_ORIGINS = ["made", "adopted", "replaced"] as const;
export const FILTER_ENDS = ["keep", "detach"] as const;
export const PINNED_STATES = ["healthy", "detached", "missing", "wrong_schema"] as const;
/** Outcomes of a passed packet where it is forwarded: exactly one; and kinds of tunnels. */
export const FORWARD_OUTCOMES = [
  "redirected",
  "tunneled",
  "tunneled_by_kernel",
  "answer_too_big",
  "drop_too_big",
  "drop_answer_limit",
  "drop_no_room",
  "kernel_foreign",
  "kernel_not_ip",
  "kernel_vlan",
  "kernel_pieces",
  "kernel_header",
  "kernel_other_mac",
  "kernel_ttl",
  "kernel_local",
  "kernel_refused",
  "kernel_off",
  "kernel_no_neighbor",
  "kernel_mtu",
  "kernel_unknown_route",
  "kernel_egress",
  "kernel_refresh",
] as const;
export const TUNNEL_KINDS = ["gre", "ipip", "vxlan"] as const;
/** Flow telemetry: see native-flow.d.ts. */
export const FLOW_PROTOCOLS = ["netflow5", "netflow9", "ipfix", "sflow5"] as const;
export const FLOW_DIRECTIONS = ["ingress", "egress", "both"] as const;
export const FLOW_LEFT_OUT = [
  "direction",
  "interface",
  "unknown_interface",
  "site",
  "late",
  "impossible_length",
  "impossible_count",
  "impossible_speed",
] as const;
export const FLOW_TRAITS = [
  "deltas",
  "totals",
  "events",
  "packets",
  "uptimes",
  "wall_times",
  "no_times",
  "tunnels",
] as const;
export const FLOW_NOT_FOR_US = [
  "vendor_sample",
  "discarded_sample",
  "not_ip_frame",
  "encapsulated_frame",
  "layer2_record",
] as const;
export const INTERFACE_ROLES = ["unset", "external", "internal", "other", "unknown"] as const;
export const FLOW_UNDECODED = [
  "version",
  "datagram",
  "length",
  "set",
  "template_unknown",
  "template_room",
  "bad_template",
  "bound",
  "field_length",
  "without_address",
  "truncated_record",
  "header",
  "sample_format",
] as const;
export const SAMPLING_ORIGINS = ["header", "options", "record", "sample", "unknown", "configured"] as const;

/** A sampled header (sample_record): its size, where its fields begin, and how much of a frame it holds. */
export const SAMPLE_RECORD = {
  bytes: 208,
  wireBytes: 0,
  capturedBytes: 4,
  ageMs: 8,
  direction: 16,
  verdict: 17,
  standsFor: 20,
  frame: 24,
  frameBytes: 128,
  isMade: 18,
  protocol: 19,
  tcpFlags: 152,
  headerBits: 153,
  sourcePort: 156,
  destinationPort: 158,
  source: 160,
  destination: 176,
  packetBytes: 154,
  ttl: 192,
} as const;
/** Fields that an exporter reported of a sampled header (abi/flow_fields_abi.h): place in its record, and bytes. */
export const REPORTED_FIELDS = {
  exporter: { at: 194, bytes: 2 },
  input: { at: 196, bytes: 4 },
  sourceAs: { at: 200, bytes: 4 },
} as const;
/** headerBits of a record: which fields are known, which fragment it is, and the family of a profile's source. */
export const HEADER_BITS = {
  ports: 1,
  tcpFlags: 2,
  firstFragment: 4,
  laterFragment: 8,
  ipv6: 16,
} as const;
/** The hosts whose samples are wanted (sample_place): by address and length, or by group. */
export const SAMPLE_PLACE = {
  bytes: 24,
  address: 0,
  group: 16,
  length: 20,
  direction: 21,
  noGroup: 4_294_967_295,
} as const;
/** A packet that a host received before it was attacked (profile_record), and all of a host (profile_row). */
export const PROFILE_RECORD = {
  bytes: 24,
  source: 0,
  sourcePort: 8,
  destinationPort: 10,
  packetBytes: 12,
  frameBytes: 14,
  ttl: 15,
  protocol: 16,
  tcpFlags: 17,
  headerBits: 18,
  standsFor: 20,
} as const;
export const PROFILE_ROW = {
  bytes: 1560,
  address: 0,
  count: 16,
  records: 24,
  recordsMax: 64,
} as const;
/** A rule of the filter (rule_record): its size, where its fields begin, and the size of a port range. */
export const RULE_RECORD = {
  bytes: 152,
  expiresAtMs: 0,
  bytesPerSecond: 8,
  packetsPerSecond: 16,
  destination: 24,
  source: 40,
  destinationLength: 56,
  sourceLength: 57,
  asks: 58,
  protocol: 59,
  fragment: 60,
  flagsSet: 61,
  flagsUnset: 62,
  sourcePorts: 63,
  destinationPorts: 64,
  action: 65,
  isDryRun: 66,
  limitLength: 67,
  lengthMin: 68,
  lengthMax: 72,
  sourceRanges: 76,
  destinationRanges: 96,
  details: 116,
  protocols: 120,
  rangeBytes: 4,
  rangeTo: 2,
} as const;
/** Fields that few rules have beside that (filter_details): their size, and where they begin. */
export const DETAILS_RECORD = {
  bytes: 248,
  asks: 0,
  ttlFrom: 1,
  ttlTo: 2,
  patterns: 3,
  windowFrom: 4,
  windowTo: 6,
  optionsSet: 8,
  optionsUnset: 16,
  dscp: 24,
  inSets: 32,
  notInSets: 40,
  lengths: 48,
  lengthBytes: 8,
  lengthTo: 4,
  pattern: 112,
  patternBytes: 66,
  patternOffset: 0,
  patternLength: 1,
  patternMask: 2,
  patternValue: 34,
} as const;
export const DETAILS_ASKS = {
  ttl: 1,
  dscp: 2,
  window: 4,
  options: 8,
  lengths: 16,
  payload: 32,
  sets: 64,
} as const;
/** That a rule is the operator's, for a destination (operator_entry_record). */
export const OPERATOR_ENTRY = {
  bytes: 24,
  destination: 0,
  rule: 16,
  destinationLength: 20,
} as const;
/** The length of a prefix that a rule does not have. */
export const RULE_NO_PREFIX = 255;
/** Conditions of a rule on a packet beside its addresses and ports. */
export const RULE_ASKS = {
  protocol: 1,
  fragment: 2,
  flags: 4,
  length: 8,
  protocols: 128,
} as const;
/** Bytes of a pair, source and victim; columns of a pair that is read, and of a rule. */
export const PAIR_BYTES = 32;
export const PAIR_COLUMNS = 3;
export const RULE_COLUMNS = 8;
/** Outcomes of the packets to a watched destination, two columns each: packets and bytes. */
export const PACKET_OUTCOMES = [
  "passed",
  "dropped_by_rule",
  "dropped_by_filter_rule",
  "dropped_by_source_block",
  "dropped_by_limit",
  "dropped_unproved",
  "answered",
] as const;
/** Destinations that can be watched. */
export const WATCHED_DESTINATIONS_MAX = 2048;
