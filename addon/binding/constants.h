// Constants of the addon's arguments and results for TypeScript: names of the core's enumerations in their order,
// bounds, columns. Needs no Node-API: constants/print_constants.cpp writes it into src/native/constants.ts.
#pragma once

#include <sched.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "filter_abi.h"
#include "forward_abi.h"

namespace floodwall::binding {

inline constexpr std::array<const char*, 2> kClocks = {"monotonic", "capture"};
inline constexpr std::array<const char*, 5> kSourceKinds = {"af_xdp", "xdp_inline", "pcap_live", "pcap_file",
                                                            "mirror_tunnel"};
inline constexpr std::array<const char*, 3> kSourceStates = {"running", "failed", "ended"};
/// From where the sampling rate of an exporter is known: by enum SamplingOrigin, and from its rule.
inline constexpr std::array<const char*, 6> kSamplingOrigins = {"header", "options", "record",
                                                                "sample", "unknown", "configured"};
inline constexpr std::array<const char*, 3> kXdpModes = {"auto", "native", "generic"};
inline constexpr std::array<const char*, 3> kZeroCopies = {"auto", "on", "off"};
inline constexpr std::array<const char*, 2> kPaces = {"real", "max"};
inline constexpr std::array<const char*, 3> kPrograms = {"mirror", "filter", "inline"};
inline constexpr std::array<const char*, 7> kXdpFeatures = {"basic",   "redirect",  "takes_redirects", "zero_copy",
                                                            "offload", "fragments", "takes_fragments"};

inline constexpr std::array<const char*, FILTER_VERDICTS> kVerdicts = {
    "pass_not_ip",     "pass_malformed",    "pass_allowlist",   "pass_whitelist", "pass_rate_limit",
    "pass_rule",       "pass_icmp",         "pass_default",     "drop_source",    "drop_rule",
    "drop_rate_limit", "drop_source_limit", "drop_unvalidated", "drop_unasked",   "drop_proof",
    "drop_tags",       "answer_syn_ack",    "answer_ack",       "answer_rst",     "answer_truncated",
};
/// By enum filter_action.
inline constexpr std::array<const char*, 13> kRuleActions = {"discard",
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
                                                             "limit_destination"};
inline constexpr std::array<const char*, 3> kFilterOrigins = {"made", "adopted", "replaced"};
inline constexpr std::array<const char*, 2> kFilterEnds = {"keep", "detach"};
inline constexpr std::array<const char*, 4> kPinnedStates = {"healthy", "detached", "missing", "wrong_schema"};

/// By enum forward_outcome, and by enum forward_tunnel_kind.
inline constexpr std::array<const char*, FORWARD_OUTCOMES> kForwardOutcomes = {
    "redirected",        "tunneled",      "tunneled_by_kernel", "answer_too_big", "drop_too_big",
    "drop_answer_limit", "drop_no_room",  "kernel_foreign",     "kernel_not_ip",  "kernel_vlan",
    "kernel_pieces",     "kernel_header", "kernel_other_mac",   "kernel_ttl",     "kernel_local",
    "kernel_refused",    "kernel_off",    "kernel_no_neighbor", "kernel_mtu",     "kernel_unknown_route",
    "kernel_egress",     "kernel_refresh"};
inline constexpr std::array<const char*, FORWARD_TUNNEL_KINDS> kTunnelKinds = {"gre", "ipip", "vxlan"};

/// In the order of packet_outcome.
inline constexpr std::array<const char*, OUTCOMES> kPacketOutcomes = {
    "passed",           "dropped_by_rule", "dropped_by_filter_rule", "dropped_by_source_block", "dropped_by_limit",
    "dropped_unproved", "answered"};

inline constexpr std::uint32_t kCpuMax = CPU_SETSIZE - 1;
inline constexpr std::uint32_t kQueueMax = 4095;
/// Pairs, rules, and prefixes of a list. Far beyond what anybody needs, far below what overflows a size.
inline constexpr std::uint32_t kFilterEntriesMax = 1U << 22;

/// Sources that the kernel knows: 16 bytes each.
inline constexpr std::uint32_t kFilterSourcesMax = 1U << 24;

/// Prefixes of all named sets together.
inline constexpr std::uint32_t kNamedPrefixesMax = 2'000'000;

/// Columns of a pair: wall time of the expiry, packets, bytes.
inline constexpr std::size_t kPairColumns = 3;
/// Columns of a rule: wall time of the expiry, packets and bytes that it matched, and that it dropped, packets
/// and bytes that it answered, and sources that proved their address.
inline constexpr std::size_t kRuleColumns = 8;
/// Columns of a watched destination: packets and bytes of each outcome.
inline constexpr std::size_t kOutcomeColumns = 2 * std::size_t{OUTCOMES};

}  // namespace floodwall::binding
