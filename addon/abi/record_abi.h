/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The records in which the addon exchanges sampled headers and rules with TypeScript. Numbers are in the machine's byte
 * order. TypeScript gets sizes and offsets from here (constants/print_constants.cpp). BPF programs do not use them.
 */
#pragma once

#include <linux/types.h>
#include <stddef.h>

#include "filter_abi.h"

#define RECORD_FRAME_BYTES 128

/* The header of one sampled packet. */
struct sample_record {
  /* Length of the frame on the wire, and how many bytes of `frame` hold the start of it; the others are 0. */
  __u32 wire_bytes;
  __u32 captured_bytes;
  double age_ms;
  /* 0: incoming, 1: outgoing. */
  __u8 direction;
  /* enum filter_verdict; FILTER_VERDICTS: nothing here judged it. */
  __u8 verdict;
  /* 1: made of a flow record; the frame has its addresses, protocol, ports, TCP flags and length, and no more. */
  __u8 is_made;
  /* Fields of the frame's headers, so that a reader of many records need not decode each: from here to `ttl`; addresses
   * in the mapped form. What RECORD_PORTS or RECORD_TCP_FLAGS does not announce is 0. */
  __u8 protocol;
  /* Packets that it stands for: those of its worker that it was drawn from, times the sampling rate. */
  __u32 stands_for;
  /* From the start of the Ethernet header. Of a link without one: a header of zeros with the type. Extension headers of
   * IPv6 that leave no room for the transport header are shortened (core/count/kept_header.h). */
  __u8 frame[RECORD_FRAME_BYTES];
  __u8 tcp_flags;
  __u8 header_bits;
  /* Length of the IP packet by its header, and its time to live or hop limit; 0: not said. */
  __u16 packet_bytes;
  __u16 source_port;
  __u16 destination_port;
  __u8 source[16];
  __u8 destination[16];
  __u8 ttl;
  /* Fields that its exporter reported beside that; 0: not known. */
#define IN_SAMPLE(name, bits, ...) __u##bits name;
#include "flow_fields_abi.h"
};
/* TypeScript reads it in place, as numbers of up to 8 bytes. */
FLOODWALL_ABI_ASSERT(sizeof(struct sample_record) % 8 == 0);

/* header_bits: the ports and the flags are known; the packet is the first fragment of a datagram, or a later one. */
#define RECORD_PORTS 1
#define RECORD_TCP_FLAGS 2
#define RECORD_FIRST_FRAGMENT 4
#define RECORD_LATER_FRAGMENT 8

/* The hosts whose samples are wanted: the addresses that agree with `address` in the first `length` bits, or of a
 * group. */
struct sample_place {
  __u8 address[16];
  /* RECORD_NO_GROUP: by address. */
  __u32 group;
  __u8 length;
  /* 0: packets to them, 1: packets from them, 2: either. */
  __u8 direction;
  __u8 reserved[2];
};
FLOODWALL_ABI_ASSERT(sizeof(struct sample_place) == 24);
#define RECORD_NO_GROUP 0xffffffff

/* A packet that a host received before it was attacked. */
struct profile_record {
  /* IPv4: the address in the first 4 bytes; IPv6 (RECORD_IPV6): the first 8 bytes of the address. */
  __u8 source[8];
  __u16 source_port;
  __u16 destination_port;
  /* As in sample_record; at most 65,535. */
  __u16 packet_bytes;
  /* Bytes of the frame beyond the packet; at most 255. */
  __u8 frame_bytes;
  __u8 ttl;
  __u8 protocol;
  __u8 tcp_flags;
  __u8 header_bits;
  __u8 reserved;
  /* Packets of the host that it represents, in proportion to those of its other records. */
  float stands_for;
};
FLOODWALL_ABI_ASSERT(sizeof(struct profile_record) == 24);
#define RECORD_IPV6 16
#define PROFILE_PACKETS 64

/* All that is kept of one host. */
struct profile_row {
  __u8 address[16];
  __u32 count;
  __u32 reserved;
  struct profile_record records[PROFILE_PACKETS];
};
FLOODWALL_ABI_ASSERT(sizeof(struct profile_row) == 24 + 24 * PROFILE_PACKETS);

/* The length of a prefix that a rule does not have. */
#define RECORD_NO_PREFIX 255

/* A rule that the filter is given. */
struct rule_record {
  /* Wall clock. */
  double expires_at_ms;
  /* Rate of a limit, of all learned sources together, or of each source; 0: none. */
  double bytes_per_second;
  /* Limit of each source; 0: none. */
  double packets_per_second;
  /* Addresses in the mapped form, and the lengths of that form. */
  __u8 destination[16];
  __u8 source[16];
  __u8 destination_length;
  __u8 source_length;
  /* FILTER_ASKS_PROTOCOL to FILTER_ASKS_LENGTH, FILTER_ASKS_PROTOCOLS: which of the fields below a packet must match.
   */
  __u8 asks;
  __u8 protocol;
  __u8 fragment;
  __u8 flags_set;
  __u8 flags_unset;
  /* How many of the ranges below are in use; 0: any port. */
  __u8 source_ports;
  __u8 destination_ports;
  /* enum filter_action. */
  __u8 action;
  __u8 is_dry_run;
  /* How much of an address is a source for its limit. */
  __u8 limit_length;
  __u32 length_min;
  __u32 length_max;
  struct filter_ports source_ranges[FILTER_PORT_RANGES];
  struct filter_ports destination_ranges[FILTER_PORT_RANGES];
  /* Which of the details that come with the rules is this rule's, plus 1; 0: none. */
  __u32 details;
  /* As filter_rule has them. */
  __u32 protocols[FILTER_PROTOCOL_WORDS];
};
FLOODWALL_ABI_ASSERT(sizeof(struct rule_record) == 152);

/* Marks a rule as the operator's, for this destination. Entries of one destination are tried in the order given. */
struct operator_entry_record {
  __u8 destination[16];
  /* Which of the rules that come with it. */
  __u32 rule;
  __u8 destination_length;
  __u8 reserved[3];
};
FLOODWALL_ABI_ASSERT(sizeof(struct operator_entry_record) == 24);
