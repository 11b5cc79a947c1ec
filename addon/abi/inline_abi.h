/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the inline counter in the kernel and its reader share: keys and values of its maps. The numbers of classes and
 * of parse errors are those of counters.h and packet_parser.h; the reader asserts it.
 */
#pragma once

#include <linux/types.h>

#ifdef __cplusplus
#define FLOODWALL_ABI_ASSERT(condition) static_assert(condition)
#else
#define FLOODWALL_ABI_ASSERT(condition) _Static_assert(condition, #condition)
#endif

enum inline_class {
  INLINE_TCP = 0,
  INLINE_UDP = 1,
  INLINE_ICMP = 2,
  INLINE_OTHER = 3,
  INLINE_TCP_SYN = 4,
  INLINE_FRAGMENT = 5,
  INLINE_CLASSES = 6,
};

enum inline_error {
  INLINE_TRUNCATED_ETHERNET = 0,
  INLINE_TOO_MANY_VLAN_TAGS = 1,
  INLINE_NOT_IP = 2,
  INLINE_TRUNCATED_IPV4 = 3,
  INLINE_BAD_IPV4_HEADER = 4,
  INLINE_TRUNCATED_IPV6 = 5,
  INLINE_BAD_IPV6_HEADER = 6,
  INLINE_ERRORS = 7,
  INLINE_NO_ERROR = 7,
};

/* An IPv6 address, or an IPv4 address in its mapped form, in network order. */
struct inline_address {
  union {
    __u8 bytes[16];
    __u32 words[4];
    __u64 halves[2];
  };
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_address) == 16);

/* What one CPU counted for a host or a network in one direction: its own cache line. The value of a host is one of
 * these for each CPU, so that CPUs write without waiting for one another; a map of the per-CPU kind does the same, but
 * takes 30 us to add a host, which a flood of random destinations would turn against the box. All wrap around at 2^32,
 * so the reader must come by while one host gets less than 4 GiB: at 100 Gbit/s in a third of a second.
 */
struct inline_counts {
  __u32 packets[INLINE_CLASSES];
  __u32 bytes[INLINE_CLASSES];
  __u32 new_flows;
  /* The way of the flow that was counted last, as the flow sets have it: a run of packets of one flow needs no look
   * into the sets. */
  __u32 last_flow;
  __u32 reserved[2];
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_counts) == 64);

/* The outcome of every frame on one CPU: received = counted + untracked + foreign + errors. */
struct inline_stats {
  __u64 received_packets;
  __u64 received_bytes;
  __u64 counted_packets;
  __u64 untracked_packets;
  __u64 foreign_packets;
  __u64 errors[INLINE_ERRORS];
  /* Times that a packet was counted for a network because its host has no row. */
  __u64 network_packets;
  /* Samples that found the ring buffer full. */
  __u64 lost_samples;
  /* Packets until the next sample. */
  __u64 sample_in;
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_stats) == 120);

/* Keys of the tries of networks; their values are network identifiers. */
struct inline_prefix4 {
  __u32 length;
  __u32 address;
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_prefix4) == 8);

struct inline_prefix6 {
  __u32 length;
  struct inline_address address;
} __attribute__((packed));
FLOODWALL_ABI_ASSERT(sizeof(struct inline_prefix6) == 20);

#define INLINE_SAMPLE_BYTES 128

struct inline_sample {
  __u32 wire;
  /* Bytes of `data` that hold the frame. */
  __u32 captured;
  __u8 data[INLINE_SAMPLE_BYTES];
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_sample) == 136);

/* Flow signatures of one set, half a cache line. A way is 20 bits of the hash, 11 bits of the epoch when the flow was
 * seen last, and one bit that tells it from an empty way. */
#define INLINE_FLOW_WAYS 8

struct inline_flow_set {
  __u32 ways[INLINE_FLOW_WAYS];
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_flow_set) == 32);

/* Secret words of the flow hash: one for each 32-bit word that goes in. */
#define INLINE_SEED_WORDS 10

/* Fixed when the program is loaded. */
struct inline_settings {
  __u32 seed[INLINE_SEED_WORDS];
  /* Flow sets of each CPU, a power of two. */
  __u32 flow_sets;
  /* One packet in so many is sampled on average; 0: none. */
  __u32 sample_every;
  __u32 counts_outgoing;
  /* Frames may come in several buffers, of which the program sees the first. */
  __u32 has_fragments;
  /* CPUs that a value has counts for. */
  __u32 cpus;
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_settings) == 60);

/* Which first 16 bits of an address can lie in a network: one bit for each, IPv4 and IPv6. */
#define INLINE_FILTER_WORDS 1024

struct inline_filter {
  __u64 ipv4[INLINE_FILTER_WORDS];
  __u64 ipv6[INLINE_FILTER_WORDS];
};
