/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Match fields of a rule that are seldom used and not in filter_rule: rare header fields, bytes of the payload, and
 * named sets of sources. A rule with such fields has the number of its row, plus 1.
 */
#pragma once

#include <linux/types.h>

#include "inline_abi.h"

/* Bytes of the payload that rules can ask for: those after the headers of TCP or UDP, of other protocols after the
 * IP header. */
#define DETAILS_PAYLOAD 128
#define DETAILS_PATTERN_BYTES 32u
#define DETAILS_PATTERNS 2u
#define DETAILS_LENGTHS 8u
/* Rules in force that can have such, and rows: one that was given up is not used again at once. */
#define DETAILS_RULES_MAX 1024u
#define DETAILS_ROWS (2 * DETAILS_RULES_MAX)
/* Kinds of TCP options that rules can ask for: 0 to 63. */
#define DETAILS_OPTION_KINDS 64

enum details_asks {
  DETAILS_ASK_TTL = 1,
  DETAILS_ASK_DSCP = 2,
  DETAILS_ASK_WINDOW = 4,
  DETAILS_ASK_OPTIONS = 8,
  DETAILS_ASK_LENGTHS = 16,
  DETAILS_ASK_PAYLOAD = 32,
  DETAILS_ASK_SETS = 64,
};

/* Bytes of the payload from an offset on. A byte beyond `length` has no mask. */
struct details_pattern {
  __u8 offset;
  __u8 length;
  __u8 mask[DETAILS_PATTERN_BYTES];
  __u8 value[DETAILS_PATTERN_BYTES];
};

/* Both ends inclusive. */
struct details_lengths {
  __u32 from;
  __u32 to;
};

struct filter_details {
  /* enum details_asks; all of it must match. */
  __u8 asks;
  /* For IPv6 the hop limit. */
  __u8 ttl_from;
  __u8 ttl_to;
  /* One of them must match. */
  __u8 patterns;
  __u16 window_from;
  __u16 window_to;
  /* By the number of the option's kind. */
  __u64 options_set;
  __u64 options_unset;
  /* By the number of the code point. */
  __u64 dscp;
  /* By the number of the set: the source lies in one of these, and in none of those. 0: any. */
  __u64 in_sets;
  __u64 not_in_sets;
  /* One of them must match; those that are not used have `from` greater than `to`. */
  struct details_lengths lengths[DETAILS_LENGTHS];
  struct details_pattern pattern[DETAILS_PATTERNS];
  __u8 reserved[4];
};
FLOODWALL_ABI_ASSERT(sizeof(struct filter_details) == 248);

/* The fields of a packet that such rules need, read once for all of them. */
struct packet_details {
  __u64 sets;
  __u64 options;
  __u16 window;
  __u8 ttl;
  __u8 dscp;
  /* How many bytes of the payload are there, at most DETAILS_PAYLOAD. */
  __u32 payload_bytes;
  __u8 payload[DETAILS_PAYLOAD];
};
FLOODWALL_ABI_ASSERT(sizeof(struct packet_details) == 24 + DETAILS_PAYLOAD);
