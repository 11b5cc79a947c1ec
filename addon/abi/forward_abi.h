/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Structs that the forwarding program in the kernel and its owner share. Each owner makes new maps. The pin name
 * contains FORWARD_SCHEMA, so that a reader of another version does not find them: increase it when a struct or the
 * meaning of a field changes.
 */
#pragma once

#include <linux/types.h>
#include <stddef.h>

#include "filter_verdicts.h"
#include "inline_abi.h"

#define FORWARD_SCHEMA 1
#define FORWARD_TUNNELS_MAX 64u
/* For each family, of networks and tunnels together. */
#define FORWARD_PREFIXES_MAX 262144u
/* Interfaces that frames arrive on, and those that they may leave by. */
#define FORWARD_PORTS_MAX 4096u

/* Exactly one for each packet that the filter passed. */
enum forward_outcome {
  FORWARD_REDIRECTED = 0,
  /* Encapsulated and redirected; encapsulated and left to the kernel, which knows what is in the way. */
  FORWARD_TUNNELED = 1,
  FORWARD_TUNNELED_KERNEL = 2,
  /* Too big for its tunnel: answered, dropped without an answer because it may be fragmented or must not be answered,
   * and dropped because enough were answered. */
  FORWARD_ANSWER_TOO_BIG = 3,
  FORWARD_DROP_TOO_BIG = 4,
  FORWARD_DROP_ANSWER_LIMIT = 5,
  /* The driver left no room in front of the frame for an outer header. */
  FORWARD_DROP_NO_ROOM = 6,
  /* Left to the kernel: not to one of the networks; no IP; with a VLAN tag; in several buffers; with options,
   * addresses or lengths that need a closer look; not to the MAC address of the interface. */
  FORWARD_KERNEL_FOREIGN = 7,
  FORWARD_KERNEL_NOT_IP = 8,
  FORWARD_KERNEL_VLAN = 9,
  FORWARD_KERNEL_PIECES = 10,
  FORWARD_KERNEL_HEADER = 11,
  FORWARD_KERNEL_OTHER_MAC = 12,
  /* The hop limit ends here; a local address or a broadcast; a route that refuses; forwarding is off on the interface;
   * no neighbor yet; longer than the MTU of the route; a kind of route that the look-up does not know. */
  FORWARD_KERNEL_TTL = 13,
  FORWARD_KERNEL_LOCAL = 14,
  FORWARD_KERNEL_UNREACHABLE = 15,
  FORWARD_KERNEL_OFF = 16,
  FORWARD_KERNEL_NEIGHBOR = 17,
  FORWARD_KERNEL_MTU = 18,
  FORWARD_KERNEL_LOOKUP = 19,
  /* The interface that it leaves by does not take redirected frames. */
  FORWARD_KERNEL_EGRESS = 20,
  /* One packet in a second of each CPU, so that the kernel sees that the neighbor is in use and asks for it again. */
  FORWARD_KERNEL_REFRESH = 21,
  FORWARD_OUTCOMES = 22,
};

/* Counts of one CPU. */
struct forward_stats {
  struct filter_count outcomes[FORWARD_OUTCOMES];
  /* Segments whose MSS was lowered; they have an outcome as well. */
  __u64 clamped;
  __u64 refreshed_ns;
  /* The monotonic clock as it was read when the kernel's tick became this one. */
  __u64 jiffies;
  __u64 now_ns;
};
FLOODWALL_ABI_ASSERT(sizeof(struct forward_stats) == 16 * FORWARD_OUTCOMES + 32);

/* The value of a prefix in the tries: the number of its tunnel plus 1; 0: it has none. */
#define FORWARD_NO_TUNNEL 0u

enum forward_tunnel_kind {
  FORWARD_GRE = 0,
  FORWARD_IPIP = 1,
  FORWARD_VXLAN = 2,
  FORWARD_TUNNEL_KINDS = 3,
};

/* Numbers of headers are in network order. */
struct forward_tunnel {
  struct ip_address local;
  struct ip_address remote;
  /* The key of GRE, or the VNI of VXLAN with the reserved byte behind it. */
  __u32 key;
  __u16 port;
  /* In host order: of the packet within, and the largest MSS of its segments by family. */
  __u16 mtu;
  __u16 mss4;
  __u16 mss6;
  __u8 kind;
  __u8 is_ipv4;
  __u8 has_key;
  /* Bytes that a frame grows by. */
  __u8 headers;
  /* MAC address in the Ethernet header within VXLAN. */
  __u8 destination_mac[6];
  __u8 source_mac[6];
  __u8 reserved[4];
};
FLOODWALL_ABI_ASSERT(sizeof(struct forward_tunnel) == 64);

/* The MAC address of an interface that frames arrive on. */
struct forward_port {
  __u8 mac[6];
  __u8 reserved[2];
};
FLOODWALL_ABI_ASSERT(sizeof(struct forward_port) == 8);

/* Times are of the monotonic clock. */
struct forward_head {
  __u32 schema;
  /* Whether a look-up of the destination can find something: there are networks or tunnels. */
  __u32 has_prefixes;
  /* When all answers are paid for. */
  __u64 answers_paid_until_ns;
  /* Routes may be kept until then: the owner has seen that they depend on the destination alone, and says so again in
   * time. */
  __u64 keeping_until_ns;
  /* Routes that were kept under another one are void. */
  __u32 generation;
  __u32 reserved;
};
FLOODWALL_ABI_ASSERT(sizeof(struct forward_head) == 32);

/* The way of packets to one destination that arrive on one interface, as one CPU looked it up last. */
struct forward_route {
  /* For IPv4 the last word alone. */
  struct ip_address destination;
  __u64 kept_until_ns;
  __u32 generation;
  __u32 ingress;
  __u32 egress;
  __u8 arrival_mac[6];
  /* MTU of the route; a longer packet takes a look-up. */
  __u16 mtu;
  /* The begin of the Ethernet header as it leaves: the neighbor's MAC address, and that of the interface. */
  __u32 macs[3];
  __u8 is_ipv4;
  __u8 reserved[7];
};
FLOODWALL_ABI_ASSERT(sizeof(struct forward_route) == 64);

/* Destinations with the same hash: the one that was looked up last is kept, and another. */
struct forward_route_set {
  struct forward_route routes[2];
};

/* For each CPU. Nine in ten of a thousand destinations have room beside each other. */
#define FORWARD_ROUTE_SET_BITS 11
#define FORWARD_ROUTE_SETS (1u << FORWARD_ROUTE_SET_BITS)

/* Fixed when the program is loaded. */
struct forward_settings {
  /* As of filter_settings. */
  __u32 has_fragments;
  __u32 reserved;
  /* How often a CPU leaves a packet to the kernel for its neighbor's sake; 0: never. */
  __u64 refresh_ns;
  /* Cost of one answer; 0: they are not limited. */
  __u64 answer_cost_ns;
  /* How long a CPU keeps a route; 0: not at all. */
  __u64 keep_ns;
};
FLOODWALL_ABI_ASSERT(sizeof(struct forward_settings) == 32);

/* Answers that may be sent at once. */
#define FORWARD_ANSWER_BURST 100u
/* Bytes of a packet that an answer quotes. */
#define FORWARD_QUOTE_BYTES 256u
