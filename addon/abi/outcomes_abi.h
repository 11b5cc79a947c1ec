/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Outcomes of the packets to watched destinations: attacked and banned hosts. A part of filter_abi.h. */
#pragma once

#include <linux/types.h>

#include "filter_verdicts.h"

#define OUTCOME_DESTINATIONS_MAX 2048u
/* A power of two: with all destinations four in a bucket, of 15. */
#define OUTCOME_BUCKETS 512u

/* Exactly one for each packet to a watched destination. */
enum packet_outcome {
  OUTCOME_PASSED = 0,
  /* By a rule of a ban or a protection. */
  OUTCOME_DROPPED_BY_RULE = 1,
  /* By one of the operator's filter rules, also beyond its rate. */
  OUTCOME_DROPPED_BY_FILTER_RULE = 2,
  OUTCOME_DROPPED_BY_SOURCE_BLOCK = 3,
  /* Beyond a rate of a ban or a protection. */
  OUTCOME_DROPPED_BY_LIMIT = 4,
  /* Its source has not proved its address, or this segment was the proof. */
  OUTCOME_DROPPED_UNPROVED = 5,
  /* Sent back to its source, which proves its address by the reply. */
  OUTCOME_ANSWERED = 6,
  OUTCOMES = 7,
};

/* Counts of one destination in one stripe. */
struct outcome_row {
  struct filter_count outcomes[OUTCOMES + 1];
};
FLOODWALL_ABI_ASSERT(sizeof(struct outcome_row) == 128);

/* A power of two: rows of a stripe for destinations that are not watched, by their hash. */
#define OUTCOME_EARLY_ROWS 512u
/* How long one of the two spans of such a row lasts: as the window of detection is by default. */
#define OUTCOME_EARLY_NS 1000000000ull
/* A destination that got nothing for this time gives its row up to another one. */
#define OUTCOME_EARLY_IDLE_NS 20000000ull

/*
 * What was kept from a destination before it is watched: an attack begins before it is found, and what is always in
 * force drops from its first packet on. Packets that pass are not counted. `last_ns` 0: the row is free.
 */
struct outcome_early {
  struct ip_address destination;
  __u64 begun_ns;
  __u64 last_ns;
  /* Since begun_ns, and in the span before. */
  struct outcome_row now;
  struct outcome_row before;
};
FLOODWALL_ABI_ASSERT(sizeof(struct outcome_early) == 288);

/* The outcome of a verdict. */
static inline __attribute__((always_inline)) enum packet_outcome packet_outcome_of(__u32 verdict, int is_filter_rule) {
  const int is_dropped = verdict >= FILTER_DROP_RULE && verdict < FILTER_ANSWER_SYN_ACK;
  if (is_filter_rule && is_dropped) return OUTCOME_DROPPED_BY_FILTER_RULE;
  switch (verdict) {
    case FILTER_DROP_SOURCE:
      return OUTCOME_DROPPED_BY_SOURCE_BLOCK;
    case FILTER_DROP_RULE:
    case FILTER_DROP_UNASKED:
      return OUTCOME_DROPPED_BY_RULE;
    case FILTER_DROP_RATE_LIMIT:
    case FILTER_DROP_SOURCE_LIMIT:
      return OUTCOME_DROPPED_BY_LIMIT;
    case FILTER_DROP_UNVALIDATED:
    case FILTER_DROP_PROOF:
      return OUTCOME_DROPPED_UNPROVED;
    default:
      return verdict >= FILTER_ANSWER_SYN_ACK && verdict < FILTER_VERDICTS ? OUTCOME_ANSWERED : OUTCOME_PASSED;
  }
}
