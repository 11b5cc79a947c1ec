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
  /* Whether the packet shows ports, and flags. */
  __u8 shows_ports;
  __u8 shows_flags;
  __u8 tcp_flags;
  /* Of the IP packet with its header, as the header has it; 0 where it leaves that open. */
  __u32 length;
};

static __always_inline int is_ipv4(const struct inline_address* address) {
  return address->halves[0] == 0 && address->words[2] == bpf_htonl(0xffff);
}

/* Where in the frame the reading is. `end` is where the packet ends by its IP header, at most where the frame does. */
struct cursor {
  const __u8* data;
  const __u8* data_end;
  __u32 offset;
  __u32 end;
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

/* The next so many bytes, or 0 when there are fewer. The second test is for the verifier, which knows no `end`. */
static __always_inline const __u8* peek(const struct cursor* cursor, __u32 bytes) {
  if (cursor->offset + bytes > cursor->end) return 0;
  const __u8* at = cursor->data + cursor->offset;
  return at + bytes > cursor->data_end ? 0 : at;
}

static __always_inline __u16 read16(const __u8* at) { return (__u16)(at[0] << 8 | at[1]); }

static __always_inline void limit(struct cursor* cursor, __u32 bytes) {
  if (cursor->offset + bytes < cursor->end) cursor->end = cursor->offset + bytes;
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

static __always_inline void parse_transport(const struct cursor* cursor, struct packet* packet) {
  packet->transport = class_of(packet->protocol);
  if (packet->is_later_fragment || !has_ports(packet->protocol)) return;
  const __u8* ports = peek(cursor, 4);
  if (!ports) return;
  packet->source_port = read16(ports);
  packet->destination_port = read16(ports + 2);
  packet->shows_ports = 1;
  if (packet->protocol != IP_TCP) return;
  const __u8* tcp = peek(cursor, 14);
  if (!tcp) return;
  packet->shows_flags = 1;
  packet->tcp_flags = tcp[13];
  const __u8 syn = 0x02, ack = 0x10;
  packet->is_syn = (tcp[13] & (syn | ack)) == syn;
}

static __always_inline __u32 parse_ipv4(struct cursor* cursor, struct packet* packet) {
  const __u8* ip = peek(cursor, 20);
  if (!ip) return INLINE_TRUNCATED_IPV4;
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
  packet->length = total_length;
  __u16 fragment = read16(ip + 6);
  packet->is_fragment = (fragment & 0x3fff) != 0;
  packet->is_later_fragment = (fragment & 0x1fff) != 0;
  if (total_length != 0) limit(cursor, total_length);
  cursor->offset += header_length;
  parse_transport(cursor, packet);
  return INLINE_NO_ERROR;
}

/* The length of the extension header that packet->protocol names, 0 where the chain ends: at a transport header or
 * where no more can be read. */
static __always_inline __u32 extension_length(const struct cursor* cursor, struct packet* packet) {
  const __u8* header = peek(cursor, 2);
  if (!header) return 0;
  switch (packet->protocol) {
    case IP_HOP_BY_HOP:
    case IP_ROUTING:
    case IP_DESTINATION:
    case IP_MOBILITY:
    case IP_HOST_IDENTITY:
    case IP_SHIM6:
      return (header[1] + 1) * 8;
    case IP_AUTHENTICATION:
      return (header[1] + 2) * 4;
    case IP_FRAGMENT:
      header = peek(cursor, 8);
      if (!header) return 0;
      packet->is_fragment = 1;
      packet->is_later_fragment = (read16(header + 2) & 0xfff8) != 0;
      return 8;
    default:
      return 0;
  }
}

/* Where the transport header begins. The mask is beyond all that eight headers reach; it tells the verifier the same of
 * the offset each time round, which spares it from following every sum of lengths. Not static for the reason of
 * parse_packet. */
__noinline __u32 skip_extensions(struct xdp_md* ctx, struct packet* packet, __u32 offset, __u32 end) {
  if (!packet) return offset;
  struct cursor cursor = {.data = (const __u8*)(long)ctx->data, .data_end = (const __u8*)(long)ctx->data_end};
  cursor.offset = offset;
  cursor.end = end;
  for (int i = 0; i < EXTENSIONS_MAX; i++) {
    cursor.offset &= 0x7fff;
    __u32 length = extension_length(&cursor, packet);
    if (length == 0 || cursor.offset + length > cursor.end) break;
    const __u8* header = peek(&cursor, 1);
    if (!header) break;
    packet->protocol = header[0];
    cursor.offset += length;
    if (packet->is_later_fragment) break;
  }
  return cursor.offset;
}

static __always_inline int is_mapped(const __u8* address) {
  const __u32* words = (const __u32*)address;
  return words[0] == 0 && words[1] == 0 && words[2] == bpf_htonl(0xffff);
}

static __always_inline __u32 parse_ipv6(struct xdp_md* ctx, struct cursor* cursor, struct packet* packet) {
  const __u8* ip = peek(cursor, 40);
  if (!ip) return INLINE_TRUNCATED_IPV6;
  if (ip[0] >> 4 != 6 || is_mapped(ip + 24)) return INLINE_BAD_IPV6_HEADER;
  if (!is_mapped(ip + 8)) __builtin_memcpy(&packet->source, ip + 8, 16);
  __builtin_memcpy(&packet->destination, ip + 24, 16);
  packet->protocol = ip[6];
  __u32 payload_length = read16(ip + 4);
  cursor->offset += 40;
  /* 0 stands for a jumbogram or for segmentation offload. */
  if (payload_length != 0) {
    packet->length = 40 + payload_length;
    limit(cursor, payload_length);
  }
  cursor->offset = skip_extensions(ctx, packet, cursor->offset, cursor->end) & 0x7fff;
  parse_transport(cursor, packet);
  return INLINE_NO_ERROR;
}

/* INLINE_NO_ERROR, or why the packet is counted to no host. `packet` must be zeros.
 * Not static, so that the verifier looks at it alone: what it finds out about a packet on each of the many ways through
 * here would otherwise multiply the ways through all that follows.
 */
__noinline __u32 parse_packet(struct xdp_md* ctx, struct packet* packet) {
  if (!packet) return INLINE_NOT_IP;
  struct cursor cursor = {.data = (const __u8*)(long)ctx->data, .data_end = (const __u8*)(long)ctx->data_end};
  cursor.end = ctx->data_end - ctx->data;
  const __u8* ethernet = peek(&cursor, 14);
  if (!ethernet) return INLINE_TRUNCATED_ETHERNET;
  __u16 type = read16(ethernet + 12);
  cursor.offset = 14;
#pragma unroll
  for (int tags = 0; tags <= VLAN_TAGS_MAX; tags++) {
    if (!is_vlan_tag(type)) break;
    if (tags == VLAN_TAGS_MAX) return INLINE_TOO_MANY_VLAN_TAGS;
    const __u8* tag = peek(&cursor, 4);
    if (!tag) return INLINE_TRUNCATED_ETHERNET;
    type = read16(tag + 2);
    cursor.offset += 4;
  }
  if (type == 0x0800) return parse_ipv4(&cursor, packet);
  if (type == 0x86dd) return parse_ipv6(ctx, &cursor, packet);
  return INLINE_NOT_IP;
}
