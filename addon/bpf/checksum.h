/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The Internet checksum. Knows nothing of packets and maps. */
#pragma once

#include <linux/types.h>

#include <bpf/bpf_helpers.h>

/* The Internet checksum (RFC 1071) of a sum of 32-bit words. */
static __always_inline __u16 folded(__u64 sum) {
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return ~sum;
}

/* The checksum after one of its 16-bit words became another (RFC 1624, equation 3). */
static __always_inline __u16 adjusted(__u16 check, __u16 was, __u16 is) {
  return folded((__u64)(__u16)~check + (__u16)~was + is);
}
