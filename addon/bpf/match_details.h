/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules that ask for more of a packet than filter_rule has (details_abi.h). What they ask for is read only where one of
 * the rules in force asks for it. Knows nothing of verdicts.
 */
#pragma once

#include "details_abi.h"
#include "filter_tables.h"
#include "source_sets.h"

FILTER_MAP(filter_details) filter_details SEC(".maps");

/* Fields of this CPU's packet: too large for the stack. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct packet_details);
} packet_details SEC(".maps");

#define TCP_HEADER_MAX 60
#define TCP_OPTION_END 0
#define TCP_OPTION_NOP 1

static __always_inline struct packet_details* details_of_packet(void) {
  __u32 slot = 0;
  return bpf_map_lookup_elem(&packet_details, &slot);
}

/* The kinds of TCP options in the `bytes` bytes at the beginning of the payload buffer. Not static for the reason of
 * parse_packet. */
__noinline __u64 option_kinds(__u32 bytes) {
  struct packet_details* details = details_of_packet();
  if (!details) return 0;
  __u64 kinds = 0, at = 0;
  for_countdown(left, TCP_HEADER_MAX - sizeof(struct tcphdr)) {
    if (at >= bytes) break;
    const __u8 kind = details->payload[bounded(at, DETAILS_PAYLOAD - 1)];
    if (kind == TCP_OPTION_END) break;
    if (kind < DETAILS_OPTION_KINDS) kinds |= 1ull << kind;
    if (kind == TCP_OPTION_NOP) {
      at = bounded(at + 1, DETAILS_PAYLOAD - 1);
      continue;
    }
    const __u8 length = details->payload[bounded(at + 1, DETAILS_PAYLOAD - 1)];
    if (length < 2) break;
    at = bounded(at + length, 0x1ff);
  }
  return kinds;
}

/* Copies bytes of the frame into the payload buffer; how many. */
static __always_inline __u32 load_bytes(struct xdp_md* ctx, struct packet_details* details, __u32 at, __u32 bytes) {
  if (bytes == 0) return 0;
  if (bytes > DETAILS_PAYLOAD) bytes = DETAILS_PAYLOAD;
  /* One less is masked, and then one added, so that the verifier also knows that it is at least 1. So must the
   * compiler: it would ask, and for what then is 0 the verifier of Linux 6.1 refuses the call. */
  const __u32 count = bounded(bytes - 1, DETAILS_PAYLOAD - 1) + 1;
  __builtin_assume(count != 0);
  return bpf_xdp_load_bytes(ctx, at, details->payload, count) == 0 ? count : 0;
}

/* Reads the window and the options of TCP; the bytes of its header, or 0 where it is not whole. */
static __always_inline __u32 read_tcp(struct xdp_md* ctx, struct packet_details* details, __u32 at, __u32 bytes) {
  struct tcphdr tcp;
  if (bytes < sizeof(tcp) || bpf_xdp_load_bytes(ctx, at, &tcp, sizeof(tcp)) != 0) return 0;
  details->window = bpf_ntohs(tcp.window);
  const __u32 header = tcp.doff * 4;
  if (header < sizeof(tcp) || header > bytes) return 0;
  const __u32 options = load_bytes(ctx, details, at + sizeof(tcp), header - sizeof(tcp));
  if (options) details->options = option_kinds(options);
  return header;
}

/* Reads all that rules can ask for but sets. Not static for the reason of parse_packet. */
__noinline int read_headers(struct xdp_md* ctx, struct packet* packet) {
  struct packet_details* details = details_of_packet();
  if (!packet || !details) return 0;
  details->options = 0;
  details->window = 0;
  details->payload_bytes = 0;
  struct ipv6hdr ip;
  const __u32 network_at = packet->network_at;
  if (bpf_xdp_load_bytes(ctx, network_at, &ip, sizeof(struct iphdr)) != 0) return 0;
  const struct iphdr* ipv4 = (const void*)&ip;
  const __u8* first = (const void*)&ip;
  const int of_ipv4 = is_ipv4(&packet->destination);
  details->ttl = of_ipv4 ? ipv4->ttl : ip.hop_limit;
  details->dscp = of_ipv4 ? ipv4->tos >> 2 : (first[0] << 2 | first[1] >> 6) & 0x3f;
  const __u32 ip_bytes = packet->transport_words * 4;
  if (packet->is_later_fragment || ip_bytes == 0 || packet->length < ip_bytes) return 0;
  __u32 at = network_at + ip_bytes, bytes = packet->length - ip_bytes;
  __u32 header = packet->traits.protocol == IPPROTO_UDP ? sizeof(struct udphdr) : 0;
  if (packet->traits.protocol == IPPROTO_TCP) {
    header = read_tcp(ctx, details, at, bytes);
    if (!header) return 0;
  }
  if (bytes <= header) return 0;
  details->payload_bytes = load_bytes(ctx, details, at + header, bytes - header);
  return 0;
}

static __always_inline void read_sets(struct packet* packet) {
  struct packet_details* details = details_of_packet();
  if (details) details->sets = sets_of_source(packet);
}

static __always_inline int has_length(const struct filter_details* wanted, __u32 length) {
  for (__u32 i = 0; i < DETAILS_LENGTHS; i++) {
    if (wanted->lengths[i].from <= length && length <= wanted->lengths[i].to) return 1;
  }
  return 0;
}

/* Not static for the reason of parse_packet. */
__noinline int has_pattern(__u32 number, __u32 which) {
  struct filter_details* wanted = bpf_map_lookup_elem(&filter_details, &number);
  struct packet_details* details = details_of_packet();
  if (!wanted || !details) return 0;
  const struct details_pattern* pattern = &wanted->pattern[bounded(which, DETAILS_PATTERNS - 1)];
  const __u32 offset = bounded(pattern->offset, DETAILS_PAYLOAD - 1);
  if (offset + pattern->length > details->payload_bytes) return 0;
  __u8 differs = 0;
  for_countdown(left, DETAILS_PATTERN_BYTES) {
    const __u64 i = bounded(left - 1, DETAILS_PATTERN_BYTES - 1);
    differs |= (details->payload[bounded(offset + i, DETAILS_PAYLOAD - 1)] ^ pattern->value[i]) & pattern->mask[i];
  }
  return !differs;
}

/* Whether the packet that was read last has what the row of this number asks for. Not static for the reason of
 * parse_packet. */
__noinline int has_details(struct packet* packet, __u32 number) {
  struct filter_details* wanted = bpf_map_lookup_elem(&filter_details, &number);
  struct packet_details* details = details_of_packet();
  if (!packet || !wanted || !details) return 0;
  const __u8 asks = wanted->asks;
  if (asks & DETAILS_ASK_SETS) {
    if (wanted->in_sets && !(details->sets & wanted->in_sets)) return 0;
    if (details->sets & wanted->not_in_sets) return 0;
  }
  if (asks & DETAILS_ASK_TTL && (details->ttl < wanted->ttl_from || details->ttl > wanted->ttl_to)) return 0;
  if (asks & DETAILS_ASK_DSCP && !(wanted->dscp >> (details->dscp & 63) & 1)) return 0;
  if (asks & (DETAILS_ASK_WINDOW | DETAILS_ASK_OPTIONS) && !(packet->traits.shows & FILTER_SHOWS_FLAGS)) return 0;
  if (asks & DETAILS_ASK_WINDOW && (details->window < wanted->window_from || details->window > wanted->window_to)) {
    return 0;
  }
  if (asks & DETAILS_ASK_OPTIONS &&
      ((details->options & wanted->options_set) != wanted->options_set || details->options & wanted->options_unset)) {
    return 0;
  }
  if (asks & DETAILS_ASK_LENGTHS && !has_length(wanted, packet->length)) return 0;
  if (!(asks & DETAILS_ASK_PAYLOAD)) return 1;
  return has_pattern(number, 0) || (wanted->patterns > 1 && has_pattern(number, 1));
}
