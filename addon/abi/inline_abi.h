/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys and values of the maps that the inline counter in the kernel and its reader share. The numbers of classes and
 * of parse errors are those of counters.h and packet_parser.h; the reader asserts it.
 */
#pragma once

#include <linux/types.h>

#include "encapsulation_abi.h"

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
struct ip_address {
  union {
    __u8 bytes[16];
    __u32 words[4];
    __u64 halves[2];
  };
};
FLOODWALL_ABI_ASSERT(sizeof(struct ip_address) == 16);

/* Counts of one CPU for a host or a network in one direction. All wrap around at 2^32, so the reader must come by
 * while one host gets less than 4 GiB on one CPU: at 100 Gbit/s in a third of a second.
 */
struct inline_counts {
  /* The flow that was counted last, by its hash and the epoch: a run of packets of one flow needs a look into the sets
   * once in an epoch only. */
  __u32 last_flow;
  __u32 new_flows;
  struct {
    __u32 packets;
    __u32 bytes;
  } classes[INLINE_CLASSES];
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_counts) == 56);

/* Hosts are kept in lanes: one for each CPU, and one more where outgoing traffic is counted, with rows, buckets and a
 * state of its own, so that only one CPU writes and none waits. The kernel's own maps would do, but a look-up there
 * costs three cache misses instead of two, reading them all a microsecond a host, and its per-CPU kind 30 us to add
 * one.
 */
struct inline_row {
  /* In a row that was given back, words[0] is the number of the next such row plus 1. */
  struct ip_address address;
  struct inline_counts counts;
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_row) == 72);

/* Rows come in chunks, which the reader adds as a lane fills up. */
#define INLINE_CHUNK_BITS 12
#define INLINE_CHUNK_ROWS (1u << INLINE_CHUNK_BITS)
/* The largest number that fits beside the tag of a way. */
#define INLINE_ROWS_MAX 0xfffffeu

struct inline_lane {
  /* Written by the program: rows that were ever in use, and the first of its list of free rows plus 1. */
  __u32 used_rows;
  __u32 free_row;
  /* Written by the reader: rows that there are. */
  __u32 row_limit;
  /* A list of rows that the reader gives back, its first plus 1. The reader writes it when it is 0, the program takes
   * it over and makes it 0. */
  __u32 given_back;
  __u32 reserved[12];
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_lane) == 64);

/* Where to find the rows of addresses. A lane has near buckets, few enough to stay in the second-level cache, and far
 * ones, which take what finds its near bucket full: the far ones of a table for a million hosts cost two cache misses
 * more with a few thousand. A way is eight bits of the hash, then the row plus 1; 0 is empty. The program writes empty
 * ways only, the reader empties others. */
#define INLINE_BUCKET_WAYS 16
#define INLINE_TAG_MASK 0xff000000u
#define INLINE_NEAR_BUCKETS 8192u

struct inline_bucket {
  __u32 ways[INLINE_BUCKET_WAYS];
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_bucket) == 64);

/* Indexes of the near and the far bucket of an address among all. */
static inline __attribute__((always_inline)) __u32 inline_near_bucket(__u32 lane, __u32 near, __u32 far, __u64 hash) {
  return lane * (near + far) + ((__u32)hash & (near - 1));
}
static inline __attribute__((always_inline)) __u32 inline_far_bucket(__u32 lane, __u32 near, __u32 far, __u64 hash) {
  return lane * (near + far) + near + ((__u32)hash & (far - 1));
}

/* The NH hash (RFC 4418) with a secret seed, then mixed. Bits 0 to 31 choose the buckets, 48 to 51 the way that is
 * tried first, 56 to 63 are the tag. */
static inline __attribute__((always_inline)) __u64 inline_host_hash(const struct ip_address* address,
                                                                    const volatile __u32* seed) {
  const __u32* words = address->words;
  __u64 hash = (__u64)(__u32)(words[0] + seed[0]) * (__u32)(words[1] + seed[1]) +
               (__u64)(__u32)(words[2] + seed[2]) * (__u32)(words[3] + seed[3]);
  hash ^= hash >> 32;
  hash *= 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

/* A power of two. */
#define INLINE_SAMPLED_OUTCOMES 4

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
  /* Packets until the next sample, by enum filter_outcome. */
  __u64 sample_in[INLINE_SAMPLED_OUTCOMES];
  /* Beside the outcomes: of one frame in INLINE_NOTED_EVERY, by what it carries that was not taken apart. */
  __u64 encapsulated[ENCAPSULATIONS];
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_stats) == 216);

/* A power of two. */
#define INLINE_NOTED_EVERY 256

/* Keys of the tries of networks; their values are network identifiers. */
struct inline_prefix4 {
  __u32 length;
  __u32 address;
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_prefix4) == 8);

struct inline_prefix6 {
  __u32 length;
  struct ip_address address;
} __attribute__((packed));
FLOODWALL_ABI_ASSERT(sizeof(struct inline_prefix6) == 20);

#define INLINE_SAMPLE_BYTES 128
/* Where extension headers of IPv6 put the transport header further behind. */
#define INLINE_LONG_SAMPLE_BYTES 2048

struct inline_sample {
  __u32 wire;
  /* Bytes of `data` that hold the frame. */
  __u16 captured;
  /* enum filter_verdict; FILTER_VERDICTS: nothing here judged it. */
  __u8 verdict;
  /* `data` begins with an IP header: the packet was taken out of something. */
  __u8 is_raw_ip;
  __u8 data[INLINE_SAMPLE_BYTES];
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_sample) == 136);

/* In place of it, up to the end of what was captured. */
struct inline_long_sample {
  __u32 wire;
  __u16 captured;
  __u8 verdict;
  __u8 is_raw_ip;
  __u8 data[INLINE_LONG_SAMPLE_BYTES];
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_long_sample) == 2056);

/* Eight flows, each by 16 bits of its hash that are not 0, the one seen last in the lowest lane; 0 is empty. Among the
 * first four the order is left as it is when one is seen again, which saves the write. A new flow is taken for a known
 * one with a chance of 8 in 65,536. */
struct inline_flow_set {
  __u64 recent;
  __u64 older;
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_flow_set) == 16);

/* Secret words: one for each 32-bit word that goes into a hash. */
#define INLINE_FLOW_SEED_WORDS 10
#define INLINE_HOST_SEED_WORDS 4

/* Fixed when the program is loaded. */
struct inline_settings {
  __u32 flow_seed[INLINE_FLOW_SEED_WORDS];
  __u32 host_seed[INLINE_HOST_SEED_WORDS];
  /* CPUs that the maps have room for. */
  __u32 cpus;
  /* For each lane. Buckets are a power of two; far ones may be none. */
  __u32 near_buckets;
  __u32 far_buckets;
  __u32 chunks;
  /* Flow sets of each CPU, a power of two. */
  __u32 flow_sets;
  /* One packet in this number is sampled on average; 0: none. */
  __u32 sample_every;
  __u32 counts_outgoing;
  /* Frames may come in several buffers, of which the program sees the first. */
  __u32 has_fragments;
  /* The interface filters too: the program has the filter's maps. */
  __u32 filters;
  /* As of filter_settings. */
  __u32 forwards;
  /* Encapsulations that are removed: a bit for each enum encapsulation. */
  __u32 decapsulated;
  /* Where VXLAN goes; 0: unused. */
  __u16 vxlan_ports[VXLAN_PORTS_MAX];
};
FLOODWALL_ABI_ASSERT(sizeof(struct inline_settings) == 108);

/* Which first 16 bits of an address can lie in a network: one bit for each, IPv4 and IPv6. */
#define INLINE_FILTER_WORDS 1024

struct inline_filter {
  __u64 ipv4[INLINE_FILTER_WORDS];
  __u64 ipv6[INLINE_FILTER_WORDS];
};
