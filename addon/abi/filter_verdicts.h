/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Verdicts of the filter, and their counters. */
#pragma once

#include <linux/types.h>

#include "inline_abi.h"

/* Exactly one for each packet. */
enum filter_verdict {
  FILTER_PASS_NOT_IP = 0,
  FILTER_PASS_MALFORMED = 1,
  FILTER_PASS_ALLOWLIST = 2,
  FILTER_PASS_WHITELIST = 3,
  FILTER_PASS_RATE_LIMIT = 4,
  /* By a rule that says so. */
  FILTER_PASS_RULE = 5,
  /* A victim cannot do without it: see bpf/pass_icmp.h. */
  FILTER_PASS_ICMP = 6,
  FILTER_PASS_DEFAULT = 7,
  FILTER_DROP_SOURCE = 8,
  FILTER_DROP_RULE = 9,
  FILTER_DROP_RATE_LIMIT = 10,
  /* Its source sends more than each source may. */
  FILTER_DROP_SOURCE_LIMIT = 11,
  /* Its source has not proved its address. */
  FILTER_DROP_UNVALIDATED = 12,
  /* An answer that was not requested. */
  FILTER_DROP_UNASKED = 13,
  /* The segment that proved its source's address: the victim never saw the one that it answers. */
  FILTER_DROP_PROOF = 14,
  /* More VLAN tags than are read: the destination is not known, and no network has as many. */
  FILTER_DROP_TAGS = 15,
  /* Sent back to its source as what the name says; the last is a DNS answer without records that asks for TCP. */
  FILTER_ANSWER_SYN_ACK = 16,
  FILTER_ANSWER_ACK = 17,
  FILTER_ANSWER_RST = 18,
  FILTER_ANSWER_TRUNCATED = 19,
  FILTER_VERDICTS = 20,
};

struct filter_count {
  __u64 packets;
  __u64 bytes;
};

/* Counters of one CPU. */
struct filter_stats {
  struct filter_count verdicts[FILTER_VERDICTS];
  /* The boot-time clock as it was at the kernel's last tick: reading it costs as much as all else that a block takes,
   * and a few milliseconds do not matter to an expiry. */
  __u64 jiffies;
  __u64 boot_ns;
  /* Whether a rule that only counts would have decided about this packet: those that follow then count it no more. */
  __u64 is_decided;
  /* Whether a filter rule of the operator decided about this packet. */
  __u64 is_filter_rule;
};
FLOODWALL_ABI_ASSERT(sizeof(struct filter_stats) == 352);
