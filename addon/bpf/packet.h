/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the headers of one frame in the kernel. The same rules, in the same order, as core/packet_parser.cpp: a test
 * runs both over the same frames. Knows nothing of maps.
 */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "inline_abi.h"

struct packet {
  struct inline_address source;
  struct inline_address destination;
  __u16 source_port;
  __u16 destination_port;
  __u8 protocol;
  /* INLINE_TCP to INLINE_OTHER. */
  __u8 transport;
  __u8 is_syn;
  __u8 is_fragment;
  __u8 is_later_fragment;
};

/* What is left to read: up to `left` bytes, which the IP header may have cut, and never beyond `data_end`. */
struct cursor {
  const __u8* at;
  const __u8* data_end;
  __u32 left;
};

#define VLAN_TAGS_MAX 2
#define EXTENSIONS_MAX 8

#define IP_HOP_BY_HOP 0
#define IP_ICMP 1
#define IP_TCP 6
#define IP_UDP 17
#define IP_DCCP 33
#define IP_ROUTING 43
#define IP_FRAGMENT 44
#define IP_AUTHENTICATION 51
#define IP_ICMP6 58
#define IP_DESTINATION 60
#define IP_SCTP 132
#define IP_MOBILITY 135
#define IP_UDP_LITE 136
#define IP_HOST_IDENTITY 139
#define IP_SHIM6 140

/* The second half of the test is for the verifier, which knows nothing of `left`. */
#define HAS(cursor, bytes) ((cursor)->left >= (bytes) && (cursor)->at + (bytes) <= (cursor)->data_end)

static __always_inline __u16 read16(const __u8* at) { return (__u16)(at[0] << 8 | at[1]); }

static __always_inline void skip(struct cursor* cursor, __u32 bytes) {
  cursor->at += bytes;
  cursor->left -= bytes;
}

static __always_inline int is_vlan_tag(__u16 type) { return type == 0x8100 || type == 0x88a8 || type == 0x9100; }

static __always_inline __u8 class_of(__u8 protocol) {
  if (protocol == IP_TCP) return INLINE_TCP;
  if (protocol == IP_UDP) return INLINE_UDP;
  return protocol == IP_ICMP || protocol == IP_ICMP6 ? INLINE_ICMP : INLINE_OTHER;
}

static __always_inline int has_ports(__u8 protocol) {
  return protocol == IP_TCP || protocol == IP_UDP || protocol == IP_SCTP || protocol == IP_UDP_LITE ||
         protocol == IP_DCCP;
}

static __always_inline void parse_transport(struct cursor* cursor, struct packet* packet) {
  packet->transport = class_of(packet->protocol);
  if (packet->is_later_fragment || !has_ports(packet->protocol) || !HAS(cursor, 4)) return;
  packet->source_port = read16(cursor->at);
  packet->destination_port = read16(cursor->at + 2);
  if (packet->protocol != IP_TCP || !HAS(cursor, 14)) return;
  const __u8 syn = 0x02, ack = 0x10;
  packet->is_syn = (cursor->at[13] & (syn | ack)) == syn;
}

static __always_inline int parse_ipv4(struct cursor* cursor, struct packet* packet) {
  if (!HAS(cursor, 20)) return INLINE_TRUNCATED_IPV4;
  const __u8* ip = cursor->at;
  __u32 header_length = (ip[0] & 0x0f) * 4;
  __u32 total_length = read16(ip + 2);
  /* Segmentation offload leaves a total length of 0. */
  if (ip[0] >> 4 != 4 || header_length < 20 || (total_length != 0 && total_length < header_length)) {
    return INLINE_BAD_IPV4_HEADER;
  }
  packet->source.words[2] = packet->destination.words[2] = bpf_htonl(0xffff);
  packet->source.words[3] = *(const __u32*)(ip + 12);
  packet->destination.words[3] = *(const __u32*)(ip + 16);
  packet->protocol = ip[9];
  __u16 fragment = read16(ip + 6);
  packet->is_fragment = (fragment & 0x3fff) != 0;
  packet->is_later_fragment = (fragment & 0x1fff) != 0;
  if (total_length != 0 && total_length < cursor->left) cursor->left = total_length;
  if (header_length > cursor->left) {
    packet->transport = class_of(packet->protocol);
    return INLINE_NO_ERROR;
  }
  skip(cursor, header_length);
  parse_transport(cursor, packet);
  return INLINE_NO_ERROR;
}

/* Steps over one extension header, which packet->protocol names. 0 where the chain ends. */
static __always_inline int skip_extension(struct cursor* cursor, struct packet* packet) {
  __u32 length = 8;
  if (!HAS(cursor, 2)) return 0;
  switch (packet->protocol) {
    case IP_HOP_BY_HOP:
    case IP_ROUTING:
    case IP_DESTINATION:
    case IP_MOBILITY:
    case IP_HOST_IDENTITY:
    case IP_SHIM6:
      length = (cursor->at[1] + 1) * 8;
      break;
    case IP_AUTHENTICATION:
      length = (cursor->at[1] + 2) * 4;
      break;
    case IP_FRAGMENT:
      if (!HAS(cursor, 8)) return 0;
      packet->is_fragment = 1;
      packet->is_later_fragment = (read16(cursor->at + 2) & 0xfff8) != 0;
      break;
    default:
      return 0;
  }
  if (cursor->left < length) return 0;
  packet->protocol = cursor->at[0];
  skip(cursor, length);
  return !packet->is_later_fragment;
}

static __always_inline int is_mapped(const __u8* address) {
  const __u32* words = (const __u32*)address;
  return words[0] == 0 && words[1] == 0 && words[2] == bpf_htonl(0xffff);
}

static __always_inline int parse_ipv6(struct cursor* cursor, struct packet* packet) {
  if (!HAS(cursor, 40)) return INLINE_TRUNCATED_IPV6;
  const __u8* ip = cursor->at;
  if (ip[0] >> 4 != 6 || is_mapped(ip + 24)) return INLINE_BAD_IPV6_HEADER;
  if (!is_mapped(ip + 8)) __builtin_memcpy(&packet->source, ip + 8, 16);
  __builtin_memcpy(&packet->destination, ip + 24, 16);
  packet->protocol = ip[6];
  __u32 payload_length = read16(ip + 4);
  skip(cursor, 40);
  /* 0 stands for a jumbogram or for segmentation offload. */
  if (payload_length != 0 && payload_length < cursor->left) cursor->left = payload_length;
  for (int i = 0; i < EXTENSIONS_MAX; i++) {
    if (!skip_extension(cursor, packet)) break;
  }
  parse_transport(cursor, packet);
  return INLINE_NO_ERROR;
}

/* INLINE_NO_ERROR, or why the packet is counted to no host. `packet` must be zeros. */
static __always_inline int parse_packet(struct xdp_md* ctx, struct packet* packet) {
  struct cursor cursor = {
      .at = (const __u8*)(long)ctx->data,
      .data_end = (const __u8*)(long)ctx->data_end,
      .left = ctx->data_end - ctx->data,
  };
  if (!HAS(&cursor, 14)) return INLINE_TRUNCATED_ETHERNET;
  __u16 type = read16(cursor.at + 12);
  skip(&cursor, 14);
#pragma unroll
  for (int tags = 0; tags <= VLAN_TAGS_MAX; tags++) {
    if (!is_vlan_tag(type)) break;
    if (tags == VLAN_TAGS_MAX) return INLINE_TOO_MANY_VLAN_TAGS;
    if (!HAS(&cursor, 4)) return INLINE_TRUNCATED_ETHERNET;
    type = read16(cursor.at + 2);
    skip(&cursor, 4);
  }
  if (type == 0x0800) return parse_ipv4(&cursor, packet);
  if (type == 0x86dd) return parse_ipv6(&cursor, packet);
  return INLINE_NOT_IP;
}
