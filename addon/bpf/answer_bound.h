/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which packets may be answered at all. The source of a packet that asks for an answer is not proven: without a bound,
 * a sender with forged sources would have this machine send to them. Knows nothing of what is answered.
 */
#pragma once

#include "filter_tables.h"

/* Answers to one prefix of sources in one period of about a second: an IPv4 /24, an IPv6 /48. A client needs one for
 * each victim, and its SYN is sent again; 4096 answers are 2 Mbit/s. */
#define ANSWERS_MAX 4096
#define ANSWERS_PERIOD_SHIFT 30
#define ANSWERS_LENGTH_IPV4 (96 + 24)
#define ANSWERS_LENGTH_IPV6 48
/* Prefixes that share a counter by chance share the bound: a flood in the name of all addresses, of ten million packets
 * a second, is some 600 for each. 128 kB stay in a CPU's own cache. */
#define ANSWERS_COUNTERS 16384

/* Each has its period in the high half and its answers in the low one. Each program has its own: it is lost with it. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, ANSWERS_COUNTERS);
  __type(key, __u32);
  __type(value, __u64);
} filter_answers SEC(".maps");

/* Sources that no host has on the way here: what a network is not, loopback, link-local, multicast, reserved and
 * broadcast addresses, and the packet's own destination (RFC 6890, RFC 1122, section 3.2.1.3; RFC 4291). */
static __always_inline int is_impossible_source(const struct packet* packet) {
  if (same_address(&packet->source, &packet->destination)) return 1;
  if (is_ipv4(&packet->source)) {
    const __u32 address = bpf_ntohl(packet->source.words[3]), network = address >> 24;
    return network == 0 || network == 127 || network >= 224 || address >> 16 == 0xa9fe;
  }
  const __u32 first = bpf_ntohl(packet->source.words[0]);
  return first == 0 || first >> 24 == 0xff || first >> 22 == 0xfe80 >> 6;
}

/* Whether the packet may be answered, which is counted. Not static for the reason of parse_packet. */
__noinline int may_answer(struct packet* packet, __u64 now_ns) {
  struct filter_head* head = filter_head_of();
  if (!packet || !head || is_impossible_source(packet)) return 0;
  const __u32 length = is_ipv4(&packet->source) ? ANSWERS_LENGTH_IPV4 : ANSWERS_LENGTH_IPV6;
  struct ip_address prefix = masked(&packet->source, length);
  __u32 index = filter_prefix_hash(&prefix, length, head->seed) >> 32 & (ANSWERS_COUNTERS - 1);
  __u64* counter = bpf_map_lookup_elem(&filter_answers, &index);
  if (!counter) return 0;
  const __u64 period = now_ns >> ANSWERS_PERIOD_SHIFT << 32, old = *(volatile __u64*)counter;
  if (old >> 32 << 32 != period) {
    /* If CPUs begin a period at the same time, one of them sets the counter; the answers of the others are not counted.
     */
    __sync_val_compare_and_swap(counter, old, period | 1);
    return 1;
  }
  if ((old & 0xffffffff) >= ANSWERS_MAX) return 0;
  __sync_fetch_and_add(counter, 1);
  return 1;
}

/* Whether the frame is to or from a group of stations: an answer would have the group's address as its sender. */
static __always_inline int is_to_group(struct xdp_md* ctx) {
  const struct ethhdr* ethernet = (const void*)(long)ctx->data;
  if ((const void*)(ethernet + 1) > (const void*)(long)ctx->data_end) return 1;
  return (ethernet->h_dest[0] | ethernet->h_source[0]) & 1;
}
