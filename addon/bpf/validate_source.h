/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sources of TCP prove that they receive packets sent to their address. A SYN of an unknown source is answered with a
 * cookie, which only the receiver of the answer can know, and for which nothing is stored:
 *
 * - reset: a SYN-ACK with the cookie as its sequence number. The client acknowledges it, and is known; the connection,
 *   which the victim knows nothing of, is reset, and the client opens another.
 * - transparent: an acknowledgement of what the client never sent, the cookie. The client resets that with the cookie
 * as sequence number (RFC 9293, section 3.10.7.3), is known, and its SYN, sent again, passes.
 *
 * Only incoming packets need be seen. All other segments of unknown sources are dropped.
 *
 * In transparent mode the RST proves only that the address responds, not that its owner sent the SYN: an attacker who
 * knows a host that resets unsolicited segments can prove that host's address. So it counts for the
 * transparent way alone. Where a stricter proof is required, such sources are as those that were learned.
 */
#pragma once

#include "rate_limit.h"
#include "siphash.h"
#include "source_table.h"

#define TCPHDR_FIN 0x01
#define TCPHDR_RST 0x04

static __always_inline __u32 cookie_period(__u64 now_ns) { return now_ns >> COOKIE_PERIOD_SHIFT & COOKIE_PERIOD_MASK; }

/* The message is addresses, ports, and in three bytes the period and the way: 15 or 39 bytes. Not static for the reason
 * of parse_packet. */
__noinline __u32 cookie_hash(struct packet* packet, __u32 key, __u32 period_and_way) {
  struct filter_head* head = filter_head_of();
  if (!packet || !head) return 0;
  const int of_ipv4 = is_ipv4(&packet->destination);
  struct siphash_state state = siphash_begin(head->cookie_keys[key & 1]);
  if (of_ipv4) {
    siphash_add(&state, (__u64)packet->source.words[3] << 32 | packet->destination.words[3]);
  } else {
    siphash_add(&state, packet->source.halves[0]);
    siphash_add(&state, packet->source.halves[1]);
    siphash_add(&state, packet->destination.halves[0]);
    siphash_add(&state, packet->destination.halves[1]);
  }
  const __u32 ports = (__u32)packet->traits.source_port << 16 | packet->traits.destination_port;
  const __u64 bytes = of_ipv4 ? 15 : 39;
  siphash_add(&state, bytes << 56 | (__u64)(period_and_way & 0xffffff) << 32 | ports);
  return siphash_end(&state);
}

static __always_inline __u32 cookie_of(struct packet* packet, __u32 key, __u32 period, int is_transparent) {
  const __u32 hash = cookie_hash(packet, key, period << 1 | is_transparent);
  return (hash & ~COOKIE_TAG_MASK) | (key ? COOKIE_KEY : 0) | (period & COOKIE_ODD_PERIOD);
}

static __always_inline int is_cookie(struct packet* packet, __u32 cookie, __u32 now_period, int is_transparent) {
  const __u32 age = (cookie ^ now_period) & COOKIE_ODD_PERIOD;
  const __u32 period = (now_period - age) & COOKIE_PERIOD_MASK;
  return cookie == cookie_of(packet, (cookie & COOKIE_KEY) != 0, period, is_transparent);
}

/* Whether the segment answers a cookie of ours. */
static __always_inline int is_proof(struct packet* packet, __u8 flags, __u32 now_period, int is_transparent) {
  if (is_transparent) {
    return flags & TCPHDR_RST && is_cookie(packet, bpf_ntohl(packet->sequence), now_period, 1);
  }
  return flags & TCPHDR_ACK && !(flags & TCPHDR_RST) &&
         is_cookie(packet, bpf_ntohl(packet->acknowledgement) - 1, now_period, 0);
}

/* The verdict on a TCP packet by the rule; FILTER_VERDICTS: the rules that follow decide. Not static for the reason of
 * parse_packet, and since older kernels bound the stack of all that call each other. */
__noinline __u32 validate_tcp(struct packet* packet, __u64 now_ns, __u32 number, __u32 wire) {
  struct filter_head* head = filter_head_of();
  struct filter_rule* rule = bpf_map_lookup_elem(&filter_rules, &number);
  if (!packet || !head || !rule) return FILTER_VERDICTS;
  const __u8 action = rule->action;
  const __u32 now = source_time(now_ns);
  const __u8 flags = packet->traits.tcp_flags & (TCPHDR_FIN | TCPHDR_SYN | TCPHDR_RST | TCPHDR_ACK);
  const int shows_flags = packet->traits.shows & FILTER_SHOWS_FLAGS;
  const struct found_source found = find_source(head, source_hash(head, &packet->source, &packet->destination));
  const __u32 state = state_of(found.entry, now);
  if (action == FILTER_LEARN) {
    const int is_established = flags & TCPHDR_ACK && !(flags & (TCPHDR_SYN | TCPHDR_RST));
    if (shows_flags && is_established) learn_source(head, &found, state, now);
    return FILTER_VERDICTS;
  }
  const int is_transparent = action == FILTER_VALIDATE_TRANSPARENT;
  if (state == SOURCE_VALIDATED && (is_transparent || !(found.entry & SOURCE_BY_RESET))) {
    keep_source(head, &found, state, now);
    return FILTER_VERDICTS;
  }
  if (shows_flags) {
    if (flags == TCPHDR_SYN) return is_transparent ? FILTER_ANSWER_ACK : FILTER_ANSWER_SYN_ACK;
    if (flags & TCPHDR_SYN) return FILTER_DROP_UNVALIDATED;
    if (is_proof(packet, flags, cookie_period(now_ns), is_transparent)) {
      put_source(&found, SOURCE_VALIDATED | is_transparent << SOURCE_BY_RESET_AT, now + head->validated_units, now);
      return is_transparent ? FILTER_DROP_PROOF : FILTER_ANSWER_RST;
    }
  }
  /* Drop also the RST that a third host sends for a SYN-ACK it did not request. */
  if (state < SOURCE_LEARNED || (!is_transparent && flags == TCPHDR_RST)) return FILTER_DROP_UNVALIDATED;
  keep_source(head, &found, state, now);
  return !rule->byte_cost || is_within_limit(rule, wire) ? FILTER_VERDICTS : FILTER_DROP_RATE_LIMIT;
}

/* The same of a DNS query. */
static __always_inline __u32 validate_dns(const struct packet* packet, __u64 now_ns) {
  struct filter_head* head = filter_head_of();
  if (!head) return FILTER_VERDICTS;
  const __u32 now = source_time(now_ns);
  const struct found_source found = find_source(head, source_hash(head, &packet->source, &packet->destination));
  const __u32 state = state_of(found.entry, now);
  if (state == SOURCE_VALIDATED && !(found.entry & SOURCE_BY_RESET)) {
    keep_source(head, &found, state, now);
    return FILTER_VERDICTS;
  }
  return is_dns_query(packet) ? FILTER_ANSWER_TRUNCATED : FILTER_DROP_UNVALIDATED;
}
