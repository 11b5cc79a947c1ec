/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A rule of the filter: what it matches, and what is done with that. A part of filter_abi.h. */
#pragma once

#include <linux/types.h>
#include <stddef.h>

#include "details_abi.h"
#include "inline_abi.h"

struct filter_ports {
  __u16 from;
  __u16 to;
};

enum filter_asks {
  FILTER_ASKS_PROTOCOL = 1,
  FILTER_ASKS_FRAGMENT = 2,
  FILTER_ASKS_FLAGS = 4,
  FILTER_ASKS_LENGTH = 8,
  FILTER_ASKS_SOURCE = 16,
  FILTER_ASKS_DESTINATION = 32,
  /* The fields of filter_details. */
  FILTER_ASKS_DETAILS = 64,
  /* One of several protocols, in place of FILTER_ASKS_PROTOCOL. */
  FILTER_ASKS_PROTOCOLS = 128,
};

/* The action on a packet that a rule matches. */
enum filter_action {
  FILTER_DISCARD = 0,
  /* Held to the rate that `byte_cost` says. Packets within it pass. */
  FILTER_LIMIT = 1,
  /* Sources of TCP are remembered; the rules that follow decide. */
  FILTER_LEARN = 2,
  /* Sources of TCP must prove their address (source_abi.h): the rules that follow decide about those that did. A source
   * that was learned keeps its connections, within the rate that `byte_cost` says, if it does. */
  FILTER_VALIDATE_RESET = 3,
  FILTER_VALIDATE_TRANSPARENT = 4,
  /* Passes, whatever the rules that follow say. */
  FILTER_PASS = 5,
  /* Packets of each source beyond `byte_cost` and `packet_cost` are dropped (allowance_abi.h); the rules that follow
   * decide about the rest. */
  FILTER_LIMIT_SOURCE = 6,
  /* DNS queries of sources that have not proved their address are answered with the advice to use TCP, where they can
   * prove it. */
  FILTER_VALIDATE_DNS = 7,
  /* A packet that goes out: who it is sent to is remembered. The rules that follow decide. */
  FILTER_LEARN_QUESTION = 8,
  /* Packets of sources from which the victim requested nothing are dropped; the rules that follow decide about the
     rest. */
  FILTER_REQUIRE_QUESTION = 9,
  /* Counted as dropped, and not dropped. */
  FILTER_COUNT = 10,
  /* Held to the rates that `byte_cost` and `packet_cost` say; the rules that follow decide about what is within. */
  FILTER_LIMIT_ALL = 11,
  /* As FILTER_LIMIT_SOURCE, of each destination; what is beyond costs nothing. */
  FILTER_LIMIT_DESTINATION = 12,
};

#define FILTER_PORT_RANGES 5
/* Protocol P is bit P % 32 of word P / 32. */
#define FILTER_PROTOCOL_WORDS 8

/* A rule: on the first cache line all that most packets are held against, on the last what they change. What it
 * matches is what ruleMatches() says; prefixes have the mapped form, and its length. */
struct filter_rule {
  /* As of a pair; 0: the rule is unused. */
  __u64 expires_at_ns;
  __u8 asks;
  __u8 protocol;
  __u8 fragment;
  __u8 flags_set;
  __u8 flags_unset;
  __u8 source_ports;
  __u8 destination_ports;
  /* enum filter_action. */
  __u8 action;
  __u32 length_min;
  __u32 length_max;
  struct filter_ports ports[2 * FILTER_PORT_RANGES];
  struct ip_address source;
  struct ip_address source_mask;
  struct ip_address destination;
  /* Cost of a byte, in 2^-16 ns. */
  __u64 byte_cost;
  /* For FILTER_LIMIT_SOURCE, FILTER_LIMIT_DESTINATION and FILTER_LIMIT_ALL: the cost of a packet in units of
   * allowance_abi.h, and how much of an address is a source. */
  __u32 packet_cost;
  __u8 limit_length;
  __u8 is_source_ipv4;
  __u8 destination_length;
  /* Dry run: count and go on. Later dry-run rules do not count a packet that this one would have decided. Not used with
   * FILTER_DISCARD. */
  __u8 is_dry_run;
  /* When all that was let through is paid for, on the boot-time clock. */
  __u64 paid_until_ns;
  /* With FILTER_ASKS_DETAILS: the number of the row of filter_details, plus 1. */
  __u32 details;
  /* With FILTER_ASKS_PROTOCOLS. Few rules ask for several, so that they are here. */
  __u32 protocols[FILTER_PROTOCOL_WORDS];
  __u32 reserved2[5];
};
FLOODWALL_ABI_ASSERT(offsetof(struct filter_rule, source) == 64);
FLOODWALL_ABI_ASSERT(offsetof(struct filter_rule, paid_until_ns) == 128);
FLOODWALL_ABI_ASSERT(sizeof(struct filter_rule) == 192);
