/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the traffic source sends: a few header templates, and how one frame differs from the next. Shared by the BPF
 * program and the socket path, so that both send the same frames in the same order. Knows nothing of pace or devices.
 */
#pragma once

#include <linux/types.h>

/* Ethernet, IPv6 and 26 bytes more: all that the profiles fill in. What follows is zeros. */
#define TRAFFIC_HEADER_BYTES 80
#define TRAFFIC_TEMPLATES_MAX 16

struct traffic_template {
  __u8 header[TRAFFIC_HEADER_BYTES];
  /* Sums of the 16-bit words that do not vary (RFC 1071), not folded. */
  __u32 ip_sum;
  __u32 l4_sum;
  /* Bytes of the frame without its check sum. */
  __u16 length;
  /* Where the last four bytes of the addresses are, and the fields that vary with them; 0: there is none. */
  __u8 source_offset;
  __u8 destination_offset;
  __u8 ip_check_offset;
  __u8 l4_check_offset;
  __u8 port_offset;
  __u8 reserved;
};

struct traffic_plan {
  struct traffic_template templates[TRAFFIC_TEMPLATES_MAX];
  __u32 template_count;
  /* The last four bytes of the first address of each kind, in host order; the others follow upwards. */
  __u32 source_base;
  __u32 source_count;
  __u32 destination_base;
  __u32 destination_count;
  __u32 port_base;
  __u32 port_count;
  /* Length of the longest template. */
  __u32 frame_bytes;
};

/* Which frame is next. Destinations turn fastest, then templates, then sources, then ports. */
struct traffic_cursor {
  __u32 destination;
  __u32 template_index;
  __u32 source;
  __u32 port;
};

static inline __attribute__((always_inline)) void traffic_advance(struct traffic_cursor* cursor,
                                                                  const struct traffic_plan* plan) {
  if (++cursor->destination < plan->destination_count) return;
  cursor->destination = 0;
  if (++cursor->template_index < plan->template_count) return;
  cursor->template_index = 0;
  if (++cursor->source < plan->source_count) return;
  cursor->source = 0;
  if (++cursor->port < plan->port_count) return;
  cursor->port = 0;
}

/* The Internet check sum of the fixed words and of those that vary, in host order; never 0, which in UDP means none. */
static inline __attribute__((always_inline)) __u16 traffic_check_sum(__u32 fixed, __u32 source, __u32 destination,
                                                                     __u32 port) {
  __u32 sum = fixed + (source >> 16) + (source & 0xffff) + (destination >> 16) + (destination & 0xffff) + port;
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  __u16 folded = (__u16)~sum;
  return folded == 0 ? 0xffff : folded;
}
