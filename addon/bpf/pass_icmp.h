/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ICMP that a victim cannot do without, whatever rules say: neighbor discovery, without which no router finds it, and
 * that a packet is too big, without which its transfers stall (RFC 4890, section 4.3.1; RFC 1191). Each CPU has a
 * budget for either, so that a flood in their form meets the rules. Knows nothing of verdicts.
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

/* 1,000 packets of neighbor discovery a second; to each victim 100 that say that one is too big. */
#define NEIGHBOR_COST_NS 1000000ull
#define TOO_BIG_COST_NS 10000000ull
/* Of as many victims, by a keyed hash: who floods one takes the budget of few others. */
#define TOO_BIG_BUDGETS 256u

/* Each until when it is paid for. */
struct icmp_budgets {
  __u64 neighbors;
  __u64 too_big[TOO_BIG_BUDGETS];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct icmp_budgets);
} icmp_budgets SEC(".maps");

static __always_inline int is_within_budget(__u64* paid_until_ns, __u64 cost_ns) {
  const __u64 now = bpf_ktime_get_boot_ns(), start = *paid_until_ns > now ? *paid_until_ns : now;
  if (start - now > FILTER_BURST_NS) return 0;
  *paid_until_ns = start + cost_ns;
  return 1;
}

/* Whether the packet, one of ICMP, is such and within the budget. Not static for the reason of parse_packet. */
__noinline int is_indispensable(struct xdp_md* ctx, struct packet* packet) {
  struct filter_head* head = filter_head_of();
  __u32 slot = 0;
  struct icmp_budgets* budgets = bpf_map_lookup_elem(&icmp_budgets, &slot);
  if (!packet || !head || !budgets || packet->is_later_fragment || packet->transport_words == 0) return 0;
  const __u32 network_at = packet->network_at;
  struct {
    __u8 type;
    __u8 code;
  } icmp;
  if (bpf_xdp_load_bytes(ctx, network_at + packet->transport_words * 4, &icmp, sizeof(icmp)) != 0) return 0;
  const int of_ipv4 = is_ipv4(&packet->destination);
  /* Each protocol is in its own family. */
  if (packet->traits.protocol != (of_ipv4 ? IPPROTO_ICMP : IPPROTO_ICMPV6)) return 0;
  if (of_ipv4 ? icmp.type == ICMP_UNREACHABLE && icmp.code == ICMP_FRAGMENTATION_NEEDED : icmp.type == ICMPV6_TOO_BIG) {
    const __u64 hash = filter_prefix_hash(&packet->destination, 128, head->seed);
    return is_within_budget(&budgets->too_big[bounded(hash >> 32, TOO_BIG_BUDGETS - 1)], TOO_BIG_COST_NS);
  }
  /* What was in a tunnel came from farther away than its hop limit says. */
  if (of_ipv4 || packet->traits.shows & FILTER_SHOWS_INNER) return 0;
  __u8 hop_limit;
  if (bpf_xdp_load_bytes(ctx, network_at + offsetof(struct ipv6hdr, hop_limit), &hop_limit, 1) != 0) return 0;
  if (hop_limit != NEIGHBOR_HOP_LIMIT || icmp.type < NEIGHBOR_DISCOVERY_FIRST || icmp.type > NEIGHBOR_DISCOVERY_LAST) {
    return 0;
  }
  return is_within_budget(&budgets->neighbors, NEIGHBOR_COST_NS);
}
