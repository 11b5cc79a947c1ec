/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers that nobody asked for: where both directions are seen, whom a victim sends packets to is remembered for about
 * a minute, and what other sources send as an answer is dropped. Known in the table of sources, apart from what these
 * proved. Whom the victim itself opens connections to is also one of its learned sources.
 */
#pragma once

#include "source_table.h"

#define ASKED_UNITS 16u
#define ASKED_MARK 0xb5ad4eceda1ce2a9ull

static __always_inline struct found_source find_asked(const struct filter_head* head,
                                                      const struct inline_address* source,
                                                      const struct inline_address* victim) {
  return find_source(head, source_hash(head, source, victim) ^ ASKED_MARK);
}

static __always_inline void remember_asked(const struct found_source* found, __u32 now) {
  const int is_known = state_of(found->entry, now) == SOURCE_LEARNED;
  if (is_known && source_time_of(found->entry) - now > ASKED_UNITS / 2) return;
  put_source(found, SOURCE_LEARNED, now + ASKED_UNITS, now);
}

static __always_inline void learn_question(const struct packet* packet, __u64 now_ns) {
  struct filter_head* head = filter_head_of();
  if (!head) return;
  const __u32 now = source_time(now_ns);
  const struct found_source asked = find_asked(head, &packet->destination, &packet->source);
  remember_asked(&asked, now);
  if (packet->traits.protocol != IPPROTO_TCP) return;
  const struct found_source found = find_source(head, source_hash(head, &packet->destination, &packet->source));
  if (state_of(found.entry, now) < SOURCE_LEARNED) put_source(&found, SOURCE_LEARNED, now + head->learned_units, now);
}

/* Not static for the reason of parse_packet. */
__noinline int is_asked(struct packet* packet, __u64 now_ns) {
  struct filter_head* head = filter_head_of();
  if (!packet || !head) return 1;
  const struct found_source found = find_asked(head, &packet->source, &packet->destination);
  return state_of(found.entry, source_time(now_ns)) != SOURCE_UNKNOWN;
}

/* As is_asked(); who goes on answering stays known. */
static __always_inline int keep_asked(const struct packet* packet, __u64 now_ns) {
  struct filter_head* head = filter_head_of();
  if (!head) return 0;
  const __u32 now = source_time(now_ns);
  const struct found_source found = find_asked(head, &packet->source, &packet->destination);
  if (state_of(found.entry, now) == SOURCE_UNKNOWN) return 0;
  remember_asked(&found, now);
  return 1;
}
