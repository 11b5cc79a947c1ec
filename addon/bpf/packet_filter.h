/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The filter that xdp_filter and xdp_inline share. Judges one packet: allowlist, protected whitelist, source blocks,
 * ICMP that no victim can do without, the operator's rules, dynamic rules, in this order. Each verdict is counted with
 * its reason, and carried out by a call of its own, so that a sample can be taken of the packet as it came. What a rule
 * matches is defined by ruleMatches() of src/mitigation/rules/match.ts.
 */
#pragma once

#include "answer_bound.h"
#include "answer_dns.h"
#include "asked_source.h"
#include "count_outcome.h"
#include "filter_tables.h"
#include "limit_source.h"
#include "match_details.h"
#include "pass_icmp.h"

/* The kernel puts bpf_jiffies64() into the program as one load, while each clock is a call. */
static __always_inline __u64 coarse_boot_ns(struct filter_stats* stats) {
  __u64 jiffies = bpf_jiffies64();
  if (stats->jiffies != jiffies) {
    stats->jiffies = jiffies;
    stats->boot_ns = bpf_ktime_get_boot_ns();
  }
  return stats->boot_ns;
}

static __always_inline int in_ranges(const struct filter_rule* rule, __u32 first, __u32 count, __u16 port) {
  for (__u32 i = 0; i < FILTER_PORT_RANGES; i++) {
    if (i >= count) break;
    if (rule->ports[first + i].from <= port && port <= rule->ports[first + i].to) return 1;
  }
  return 0;
}

static __always_inline int matches_source(const struct filter_rule* rule, const struct packet* packet) {
  if (rule->is_source_ipv4 != is_ipv4(&packet->destination)) return 0;
  const __u64* mask = rule->source_mask.halves;
  return (packet->source.halves[0] & mask[0]) == rule->source.halves[0] &&
         (packet->source.halves[1] & mask[1]) == rule->source.halves[1];
}

static __always_inline int is_of_protocols(const struct filter_rule* rule, __u8 protocol) {
  return rule->protocols[protocol / 32] >> protocol % 32 & 1;
}

/* All that the entry of the rule does not say. Not static for the reason of parse_packet. */
__noinline int rule_matches(struct packet* packet, __u32 number) {
  struct filter_rule* rule = bpf_map_lookup_elem(&filter_rules, &number);
  if (!rule || !packet) return 0;
  const __u8 asks = rule->asks;
  if (asks & FILTER_ASKS_LENGTH && (packet->length < rule->length_min || packet->length > rule->length_max)) return 0;
  if (asks & FILTER_ASKS_PROTOCOLS && !is_of_protocols(rule, packet->traits.protocol)) return 0;
  if (rule->source_ports && !in_ranges(rule, 0, rule->source_ports, packet->traits.source_port)) return 0;
  if (rule->destination_ports &&
      !in_ranges(rule, FILTER_PORT_RANGES, rule->destination_ports, packet->traits.destination_port)) {
    return 0;
  }
  if (asks & FILTER_ASKS_SOURCE && !matches_source(rule, packet)) return 0;
  return asks & FILTER_ASKS_DETAILS ? has_details(packet, rule->details - 1) : 1;
}

/* A stripe that only this CPU counts in needs no locked instructions, which cost as much as all else that a rule
 * takes. */
static __always_inline void count_outcome(const struct filter_head* head, __u32 number, __u32 wire, __u64 outcome) {
  __u32 stripe = bpf_get_smp_processor_id() & (head->stripes - 1);
  __u32 index = stripe * head->rule_slots + number;
  struct filter_hits* hits = bpf_map_lookup_elem(&filter_hits, &index);
  if (!hits) return;
  struct filter_count* count = &hits->outcomes[bounded(outcome, FILTER_OUTCOMES - 1)];
  if (head->are_stripes_shared) {
    __sync_fetch_and_add(&count->packets, 1);
    __sync_fetch_and_add(&count->bytes, wire);
  } else {
    count->packets++;
    count->bytes += wire;
  }
}

/* Actions that answer packets so that their source proves its address. */
#define FILTER_ANSWERS (1u << FILTER_VALIDATE_RESET | 1u << FILTER_VALIDATE_TRANSPARENT | 1u << FILTER_VALIDATE_DNS)

/* As verdict_of_action(). A function of its own for the stack: older kernels bound that of all that call each other.
 * Not static for the reason of parse_packet. */
__noinline __u32 verdict_of_question(struct packet* packet, __u64 now_ns, __u32 action) {
  if (!packet) return FILTER_VERDICTS;
  switch (action) {
    case FILTER_VALIDATE_DNS:
      return validate_dns(packet, now_ns);
    case FILTER_LEARN_QUESTION:
      learn_question(packet, now_ns);
      return FILTER_VERDICTS;
    default:
      return is_requested(packet, now_ns) ? FILTER_VERDICTS : FILTER_DROP_UNASKED;
  }
}

/* As judge_by_action(), which counts. */
static __always_inline __u32 verdict_of_action(struct packet* packet, __u64 now_ns, struct filter_rule* rule,
                                               __u32 number, __u32 wire) {
  /* The sender of a packet in a tunnel cannot be reached by an answer. */
  if (packet->traits.shows & FILTER_SHOWS_INNER && FILTER_ANSWERS >> rule->action & 1) return FILTER_VERDICTS;
  switch (rule->action) {
    case FILTER_LIMIT:
      return is_within_limit(rule, wire) ? FILTER_PASS_RATE_LIMIT : FILTER_DROP_RATE_LIMIT;
    case FILTER_LIMIT_ALL:
      return is_within_limit(rule, wire) ? FILTER_VERDICTS : FILTER_DROP_RATE_LIMIT;
    case FILTER_LIMIT_SOURCE:
      return is_within_allowance(packet, number, wire) ? FILTER_VERDICTS : FILTER_DROP_SOURCE_LIMIT;
    case FILTER_LIMIT_DESTINATION:
      return is_within_allowance(packet, number, wire) ? FILTER_VERDICTS : FILTER_DROP_RATE_LIMIT;
    case FILTER_PASS:
      return FILTER_PASS_RULE;
    case FILTER_COUNT:
      return FILTER_DROP_RULE;
    case FILTER_VALIDATE_DNS:
    case FILTER_LEARN_QUESTION:
    case FILTER_REQUIRE_QUESTION:
      return verdict_of_question(packet, now_ns, rule->action);
    default:
      return validate_tcp(packet, now_ns, number, wire);
  }
}

/* Beyond the verdicts: a rule that only counts would have decided; no prefix of a length has rules. */
#define FILTER_WOULD_DECIDE (FILTER_VERDICTS + 1)
#define FILTER_NO_RULES (FILTER_VERDICTS + 2)

/* The verdict of a rule that does not discard all; FILTER_VERDICTS: the rules that follow decide. Counts it. Not static
 * for the reason of parse_packet. */
__noinline __u32 judge_by_action(struct packet* packet, __u64 now_ns, __u32 number, __u32 wire) {
  struct filter_rule* rule = bpf_map_lookup_elem(&filter_rules, &number);
  if (!packet || !rule) return FILTER_VERDICTS;
  __u32 verdict = verdict_of_action(packet, now_ns, rule, number, wire);
  /* The reset goes only to the sender that proved its address. */
  const int asks_back = verdict >= FILTER_ANSWER_SYN_ACK && verdict < FILTER_VERDICTS && verdict != FILTER_ANSWER_RST;
  if (asks_back && !rule->is_dry_run && !may_answer(packet, now_ns)) verdict = FILTER_DROP_UNVALIDATED;
  struct filter_head* head = filter_head_of();
  if (!head) return FILTER_VERDICTS;
  count_outcome(head, number, wire, filter_outcome_of(verdict));
  if (verdict == FILTER_DROP_PROOF || verdict == FILTER_ANSWER_RST) count_outcome(head, number, wire, FILTER_VALIDATED);
  return rule->is_dry_run && verdict < FILTER_VERDICTS ? FILTER_WOULD_DECIDE : verdict;
}

/* The verdict of a rule that matches; FILTER_VERDICTS: the rules that follow decide. */
static __always_inline __u32 apply_rule(const struct filter_head* head, const struct filter_rule* rule,
                                        struct packet* packet, struct filter_stats* stats, __u32 number, __u32 wire) {
  if (rule->action != FILTER_DISCARD) return judge_by_action(packet, coarse_boot_ns(stats), number, wire);
  count_outcome(head, number, wire, FILTER_DROPPED);
  return FILTER_DROP_RULE;
}

/* The verdict of the rules of one prefix, of which `first` is the first entry's number; FILTER_VERDICTS: none matches.
 */
static __always_inline __u32 apply_rules(const struct filter_head* head, struct packet* packet,
                                         struct filter_stats* stats, __u32 first, __u32 wire) {
  __u32 at = first;
  const struct filter_entry* entry = bpf_map_lookup_elem(&filter_entries, &at);
  if (!entry) return FILTER_VERDICTS;
  for_countdown(left, (__s64)entry->more + 1) {
    if ((packet->traits.all & entry->mask.all) == entry->wanted.all) {
      __u32 number = entry->rule;
      struct filter_rule* rule = bpf_map_lookup_elem(&filter_rules, &number);
      if (rule && rule->expires_at_ns > coarse_boot_ns(stats) && !(rule->is_dry_run && stats->is_decided) &&
          (!entry->asks_more || rule_matches(packet, number))) {
        __u32 verdict = apply_rule(head, rule, packet, stats, number, wire);
        if (verdict < FILTER_VERDICTS) return verdict;
        if (verdict == FILTER_WOULD_DECIDE) stats->is_decided = 1;
      }
    }
    at++;
    entry = bpf_map_lookup_elem(&filter_entries, &at);
    if (!entry) break;
  }
  return FILTER_VERDICTS;
}

/* The verdict of the rules for the prefix of this length that the destination lies in. Not static for the reason of
 * parse_packet; what needs no function of its own has none, since processors with a mitigation for returns pay some
 * nanoseconds for each. */
__noinline __u32 judge_by_prefix(struct packet* packet, struct filter_stats* stats, __u32 set_index, __u32 length,
                                 __u32 wire) {
  struct filter_head* head = filter_head_of();
  struct filter_set* set = bpf_map_lookup_elem(&filter_sets, &set_index);
  if (!packet || !stats || !head || !set) return FILTER_NO_RULES;
  __u32 entry =
      length == FILTER_ANY_LENGTH ? set->first_entry + 1 : find_entry(head, set, &packet->destination, length);
  return entry ? apply_rules(head, packet, stats, entry - 1, wire) : FILTER_NO_RULES;
}

/* The longest destination that has a matching rule decides; rules for any destination come last. The list of the
 * longest destination has all of the operator's rules for it. Not static for the reason of parse_packet. */
__noinline __u32 judge_by_rules(struct packet* packet, struct filter_stats* stats, __u32 set_index, __u32 wire) {
  struct filter_set* set = bpf_map_lookup_elem(&filter_sets, &set_index);
  if (!packet || !stats || !set) return FILTER_VERDICTS;
  if (may_be_in(set, &packet->destination)) {
    int of_ipv4 = is_ipv4(&packet->destination);
    __u64 lengths = lengths_of(set, of_ipv4);
    for_countdown(left, lengths) {
      __u32 length = length_at(set, of_ipv4, bounded(lengths - left, 0xff));
      __u32 verdict = judge_by_prefix(packet, stats, set_index, length, wire);
      if (verdict < FILTER_VERDICTS) return verdict;
      if (verdict == FILTER_VERDICTS && set_index / FILTER_SET_COPIES == FILTER_OPERATOR_RULES) return verdict;
    }
  }
  if (!set->any_entries) return FILTER_VERDICTS;
  return judge_by_prefix(packet, stats, set_index, FILTER_ANY_LENGTH, wire);
}

/* Counts in what the owner has not yet added to the row; 0: this CPU is not the owner, or there is no room. */
static __always_inline int hold(struct filter_pair* pair, __u32 wire) {
  const __u32 self = bpf_get_smp_processor_id() + 1;
  if (self > FILTER_OWNER_MASK) return 0;
  __u32 held = pair->held;
  if (held == 0) {
    held = __sync_val_compare_and_swap(&pair->held, 0, self);
    if (held == 0) held = self;
  }
  if ((held & FILTER_OWNER_MASK) != self) return 0;
  if ((held >> FILTER_OWNER_BITS & FILTER_HELD_PACKETS_MAX) == FILTER_HELD_PACKETS_MAX) return 0;
  if ((held >> FILTER_HELD_BYTES_SHIFT) + wire > FILTER_HELD_BYTES_MAX) return 0;
  pair->held = held + (1u << FILTER_OWNER_BITS) + (wire << FILTER_HELD_BYTES_SHIFT);
  return 1;
}

/* Counts in the row, with what the owner holds where this CPU is the owner. Not static for the reason of
 * parse_packet. */
__noinline int count_in_row(__u32 number, __u32 wire) {
  struct filter_pair* pair = pair_at(number);
  struct filter_pair_row* row = bpf_map_lookup_elem(&filter_pair_rows, &number);
  if (!pair || !row) return 0;
  __u64 packets = 1, bytes = wire;
  const __u32 held = pair->held, self = bpf_get_smp_processor_id() + 1;
  if ((held & FILTER_OWNER_MASK) == self) {
    packets += held >> FILTER_OWNER_BITS & FILTER_HELD_PACKETS_MAX;
    bytes += held >> FILTER_HELD_BYTES_SHIFT;
    pair->held = self;
  }
  __sync_fetch_and_add(&row->hits.packets, packets);
  __sync_fetch_and_add(&row->hits.bytes, bytes);
  return 0;
}

static __always_inline int is_in_force(struct found_pair found, __u64 now) {
  const __u32 expires = found.pair->expires >> 1, coarse = filter_coarse_time(now);
  if (expires != coarse) return expires > coarse;
  struct filter_pair_row* row = bpf_map_lookup_elem(&filter_pair_rows, &found.number);
  return row && row->expires_at_ns > now;
}

static __always_inline int is_blocked(const struct filter_head* head, struct filter_stats* stats, struct packet* packet,
                                      __u32 wire) {
  struct found_pair found = find_pair(head, packet);
  if (!found.pair || !is_in_force(found, coarse_boot_ns(stats))) return 0;
  if (!hold(found.pair, wire)) count_in_row(found.number, wire);
  return 1;
}

/* Whether the address lies in a prefix of the set in force. */
static __always_inline int is_listed(const struct filter_head* head, __u32 kind, struct ip_address* address) {
  if (!head->entries[kind]) return 0;
  return is_in_set(address, set_index_of(head, kind));
}

/* The verdict of the rules of a kind; at least FILTER_VERDICTS: none. */
static __always_inline __u32 judge_by_kind(struct xdp_md* ctx, const struct filter_head* head,
                                           struct filter_stats* stats, struct packet* packet, __u32 wire, __u32 kind) {
  if (!head->entries[kind]) return FILTER_VERDICTS;
  const struct filter_set* set = active_set(head, kind);
  if (!set || (!set->any_entries && !may_be_in(set, &packet->destination))) return FILTER_VERDICTS;
  if (packet->transport == INLINE_ICMP && is_indispensable(ctx, packet)) return FILTER_PASS_ICMP;
  const __u32 asked = head->details_asked[kind];
  if (asked & ~DETAILS_ASK_SETS) read_headers(ctx, packet);
  if (asked & DETAILS_ASK_SETS) read_sets(packet);
  stats->is_decided = 0;
  return judge_by_rules(packet, stats, set_index_of(head, kind), wire);
}

static __always_inline __u32 judge_packet(struct xdp_md* ctx, const struct filter_head* head,
                                          struct filter_stats* stats, struct packet* packet, __u32 wire) {
  if (is_listed(head, FILTER_ALLOWLIST, &packet->source)) return FILTER_PASS_ALLOWLIST;
  if (is_listed(head, FILTER_WHITELIST, &packet->destination)) return FILTER_PASS_WHITELIST;
  if (head->pairs && is_blocked(head, stats, packet, wire)) return FILTER_DROP_SOURCE;
  __u32 verdict = judge_by_kind(ctx, head, stats, packet, wire, FILTER_OPERATOR_RULES);
  stats->is_filter_rule = verdict < FILTER_VERDICTS;
  if (verdict >= FILTER_VERDICTS) verdict = judge_by_kind(ctx, head, stats, packet, wire, FILTER_RULES);
  return verdict >= FILTER_VERDICTS ? FILTER_PASS_DEFAULT : verdict;
}

/* Whether the verdict leaves a packet that is inside of the one judged to be judged by itself: what lets a tunnel pass
 * says nothing of those that send through it. */
static __always_inline int leaves_inner(__u32 verdict) { return verdict < FILTER_DROP_SOURCE; }

/* The verdict on the packet, which is counted; FILTER_VERDICTS: none. `error` is what parse_packet() said of it, `wire`
 * its bytes. `is_around`: another packet inside is judged next if nothing decides about this one. */
static __always_inline __u32 judge_and_count(struct xdp_md* ctx, struct packet* packet, __u32 error, __u32 wire,
                                             __u32 is_around) {
  struct filter_head* head = filter_head_of();
  __u32 slot = 0;
  struct filter_stats* stats = bpf_map_lookup_elem(&filter_stats, &slot);
  if (!head || !stats) return FILTER_VERDICTS;
  __u32 verdict = FILTER_PASS_MALFORMED;
  if (error == INLINE_NO_ERROR) {
    verdict = judge_packet(ctx, head, stats, packet, wire);
  } else if (error == INLINE_NOT_IP) {
    verdict = FILTER_PASS_NOT_IP;
  } else if (error == INLINE_TOO_MANY_VLAN_TAGS) {
    verdict = FILTER_DROP_TAGS;
  }
  if (is_around && leaves_inner(verdict)) return FILTER_VERDICTS;
  if (verdict >= FILTER_ANSWER_SYN_ACK && verdict < FILTER_VERDICTS && is_to_group(ctx)) {
    verdict = FILTER_DROP_UNVALIDATED;
  }
  /* The verifier requires the bounds check on the register that is used as the index. */
  asm volatile("" : "+r"(verdict));
  if (verdict >= FILTER_VERDICTS) return FILTER_VERDICTS;
  stats->verdicts[verdict].packets++;
  stats->verdicts[verdict].bytes += wire;
  const __u32 is_due = verdict >= FILTER_DROP_SOURCE && is_early_due(stats->verdicts[verdict].packets);
  if (head->watched || is_due) count_watched(packet, verdict, wire, is_due);
  return verdict;
}

/* Returns the XDP action for the packet. An answer is written over it. */
static __always_inline int carry_out(struct xdp_md* ctx, struct packet* packet, __u32 verdict) {
  if (verdict < FILTER_DROP_SOURCE || verdict >= FILTER_VERDICTS) return XDP_PASS;
  if (verdict < FILTER_ANSWER_SYN_ACK) return XDP_DROP;
  if (verdict == FILTER_ANSWER_TRUNCATED) return answer_dns(ctx, packet);
  __u32 slot = 0;
  struct filter_stats* stats = bpf_map_lookup_elem(&filter_stats, &slot);
  return stats ? answer_tcp(ctx, packet, stats->boot_ns, verdict) : XDP_DROP;
}
