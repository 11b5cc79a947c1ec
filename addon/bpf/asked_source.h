/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Drops answers that were not requested. Where both directions are seen, the hosts that a victim sends packets to are
 * remembered for about a minute, and answers of other sources are dropped. The table of sources keeps these hosts apart
 * from sources that proved their address.
 */
#pragma once

#include "source_table.h"

#define ASKED_UNITS 16u
#define ASKED_MARK 0xb5ad4eceda1ce2a9ull

static __always_inline struct found_source find_asked(const struct filter_head* head, const struct ip_address* source,
                                                      const struct ip_address* victim) {
  return find_source(head, source_hash(head, source, victim) ^ ASKED_MARK);
}

static __always_inline void learn_question(const struct packet* packet, __u64 now_ns) {
  struct filter_head* head = filter_head_of();
  if (!head) return;
  const __u32 now = source_time(now_ns);
  const struct found_source found = find_asked(head, &packet->destination, &packet->source);
  const int is_known = state_of(found.entry, now) == SOURCE_LEARNED;
  if (is_known && source_time_of(found.entry) - now > ASKED_UNITS / 2) return;
  put_source(&found, SOURCE_LEARNED, now + ASKED_UNITS, now);
}

static __always_inline int is_requested(const struct packet* packet, __u64 now_ns) {
  struct filter_head* head = filter_head_of();
  if (!head) return 1;
  const struct found_source found = find_asked(head, &packet->source, &packet->destination);
  return state_of(found.entry, source_time(now_ns)) != SOURCE_UNKNOWN;
}
