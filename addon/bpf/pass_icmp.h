/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ICMP that a victim cannot do without, whatever rules say: neighbor discovery, without which no router finds it, and
 * that a packet is too big, without which its transfers stall (RFC 4890, section 4.3.1; RFC 1191). Either has a budget
 * for each destination, so that a flood in their form meets the rules. Knows nothing of verdicts.
 */
#pragma once

#include "filter_tables.h"

#define ICMP_UNREACHABLE 3
#define ICMP_FRAGMENTATION_NEEDED 4
#define ICMPV6_TOO_BIG 2
/* From router solicitations to redirects. No router forwards a packet that arrives with this hop limit (RFC 4861). */
#define NEIGHBOR_DISCOVERY_FIRST 133
#define NEIGHBOR_DISCOVERY_LAST 137
#define NEIGHBOR_HOP_LIMIT 255

/* Errors are no longer than this with their IP header (RFC 4443, section 2.4; RFC 1812, section 4.3.2.3). */
#define ICMPV6_ERROR_MAX 1280
#define ICMP_ERROR_MAX 576
#define ICMP_HEADER 8

/* 100 packets a second. */
#define ICMP_COST_NS 10000000ull
/* Budgets of as many destinations, by a keyed hash: a flood to one uses up the budget of few others. */
#define ICMP_BUDGETS 1024u

/* Each until when it is paid for. Shared by all CPUs: a flood that is spread over them gets no more. */
struct icmp_budgets {
  __u64 neighbors[ICMP_BUDGETS];
  __u64 too_big[ICMP_BUDGETS];
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct icmp_budgets);
} icmp_budgets SEC(".maps");

/* A CPU that comes too late has none of it. */
static __always_inline int is_within_budget(__u64* paid_until_ns) {
  const __u64 now = bpf_ktime_get_boot_ns(), paid = *(volatile __u64*)paid_until_ns, start = paid > now ? paid : now;
  if (start - now > FILTER_BURST_NS) return 0;
  return __sync_val_compare_and_swap(paid_until_ns, paid, start + ICMP_COST_NS) == paid;
}

/* Whether the error, at `at` in the frame, is about a packet of its destination. Not static for the reason of
 * parse_packet. */
__noinline int quotes_destination(struct xdp_md* ctx, struct packet* packet, __u32 at) {
  if (!packet) return 0;
  const int of_ipv4 = is_ipv4(&packet->destination);
  if (packet->length == 0 || packet->length > (of_ipv4 ? ICMP_ERROR_MAX : ICMPV6_ERROR_MAX)) return 0;
  struct ip_address sender = {};
  const __u32 quoted_at = at + ICMP_HEADER;
  if (of_ipv4) {
    if (bpf_xdp_load_bytes(ctx, quoted_at + offsetof(struct iphdr, saddr), &sender.words[3], 4) != 0) return 0;
    return sender.words[3] == packet->destination.words[3];
  }
  if (bpf_xdp_load_bytes(ctx, quoted_at + offsetof(struct ipv6hdr, saddr), &sender, sizeof(sender)) != 0) return 0;
  return same_address(&sender, &packet->destination);
}

/* Whether the packet, one of ICMP, is such and within the budget. Not static for the reason of parse_packet. */
__noinline int is_indispensable(struct xdp_md* ctx, struct packet* packet) {
  struct filter_head* head = filter_head_of();
  __u32 slot = 0;
  struct icmp_budgets* budgets = bpf_map_lookup_elem(&icmp_budgets, &slot);
  /* In pieces neither comes (RFC 6980). */
  if (!packet || !head || !budgets || packet->traits.shows & FILTER_SHOWS_FRAGMENT || !packet->transport_words)
    return 0;
  const __u32 network_at = packet->network_at, at = network_at + packet->transport_words * 4;
  struct {
    __u8 type;
    __u8 code;
  } icmp;
  if (bpf_xdp_load_bytes(ctx, at, &icmp, sizeof(icmp)) != 0) return 0;
  const int of_ipv4 = is_ipv4(&packet->destination);
  /* Each protocol is in its own family. */
  if (packet->traits.protocol != (of_ipv4 ? IPPROTO_ICMP : IPPROTO_ICMPV6)) return 0;
  const __u64 hash = filter_prefix_hash(&packet->destination, 128, head->seed);
  const __u64 budget = bounded(hash >> 32, ICMP_BUDGETS - 1);
  if (of_ipv4 ? icmp.type == ICMP_UNREACHABLE && icmp.code == ICMP_FRAGMENTATION_NEEDED : icmp.type == ICMPV6_TOO_BIG) {
    return quotes_destination(ctx, packet, at) && is_within_budget(&budgets->too_big[budget]);
  }
  /* A packet from a tunnel came from farther away than its hop limit says. */
  if (of_ipv4 || packet->traits.shows & FILTER_SHOWS_INNER) return 0;
  __u8 hop_limit;
  if (bpf_xdp_load_bytes(ctx, network_at + offsetof(struct ipv6hdr, hop_limit), &hop_limit, 1) != 0) return 0;
  if (hop_limit != NEIGHBOR_HOP_LIMIT || icmp.type < NEIGHBOR_DISCOVERY_FIRST || icmp.type > NEIGHBOR_DISCOVERY_LAST) {
    return 0;
  }
  return is_within_budget(&budgets->neighbors[budget]);
}
