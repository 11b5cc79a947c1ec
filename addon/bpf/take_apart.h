/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the packet inside of tunnels and labels, step by step: to the IP header, over the tunnel's header behind it, to
 * the next IP header. The same rules, in the same order, as core/parse/take_apart.cpp, where they are explained: a test
 * runs both over the same frames. Reads the frame from its beginning, since few frames come here. Tags other than VLAN
 * tags are for mirrors and are left to user space, also inside of tunnels.
 */
#pragma once

#include "parse_packet.h"
#include "verifier_bounds.h"

/* By the settings of the program that includes this. */
static __always_inline int is_vxlan_port(__u16 port);

enum payload {
  PAYLOAD_NOTHING = 0,
  PAYLOAD_ETHERNET = 1,
  PAYLOAD_MPLS = 2,
  PAYLOAD_IPV4 = 4,
  PAYLOAD_IPV6 = 6,
  PAYLOAD_IP = 7,
};

/* Where reading is, and what begins there. `end` is where the packet ends by the IP headers so far. */
struct walk {
  __u32 offset;
  __u32 end;
  __u16 payload;
  /* There was more than Ethernet before the IP header. */
  __u16 has_labels;
  __u32 kinds;
};

static __always_inline struct cursor cursor_of(struct xdp_md* ctx, const struct walk* walk) {
  struct cursor cursor = {.data = (const __u8*)(long)ctx->data, .data_end = (const __u8*)(long)ctx->data_end};
  cursor.offset = bounded(walk->offset, 0x7fff);
  cursor.end = walk->end;
  return cursor;
}

static __always_inline int skip_bytes(struct walk* walk, __u32 bytes) {
  walk->offset = bounded(walk->offset, 0x7fff);
  if (walk->offset + bytes > walk->end) return 0;
  walk->offset += bytes;
  return 1;
}

static __always_inline int is_wanted(const struct walk* walk, __u32 kind) { return walk->kinds >> kind & 1; }

static __always_inline __u32 word_at(const __u8* at) { return (__u32)at[0] << 8 | at[1]; }

static __always_inline __u32 by_version(struct xdp_md* ctx, const struct walk* walk) {
  struct cursor cursor = cursor_of(ctx, walk);
  const __u8* first = peek(&cursor, 1);
  if (!first) return PAYLOAD_NOTHING;
  if (*first >> 4 == 4) return PAYLOAD_IPV4;
  return *first >> 4 == 6 ? PAYLOAD_IPV6 : PAYLOAD_NOTHING;
}

static __always_inline __u32 behind_pppoe(struct xdp_md* ctx, struct walk* walk) {
  struct cursor cursor = cursor_of(ctx, walk);
  const __u8* header = peek(&cursor, 8);
  if (!header || word_at(header) != 0x1100) return PAYLOAD_NOTHING;
  const __u32 is_compressed = header[6] & 1, protocol = is_compressed ? header[6] : word_at(header + 6);
  walk->offset = cursor.offset + 8 - is_compressed;
  walk->has_labels = 1;
  if (protocol == 0x0021) return PAYLOAD_IPV4;
  return protocol == 0x0057 ? PAYLOAD_IPV6 : PAYLOAD_NOTHING;
}

/* Not static for the reason of parse_packet, as all that follow. */
__noinline __u32 behind_ethernet(struct xdp_md* ctx, struct walk* walk) {
  if (!walk) return PAYLOAD_NOTHING;
  struct cursor cursor = cursor_of(ctx, walk);
  const struct ethhdr* ethernet = peek(&cursor, sizeof(*ethernet));
  if (!ethernet) return PAYLOAD_NOTHING;
  __be16 type = ethernet->h_proto;
  cursor.offset += sizeof(*ethernet);
  for (int tags = 0; is_vlan_tag(type); tags++) {
    if (tags == VLAN_TAGS_MAX) return PAYLOAD_NOTHING;
    cursor.offset = bounded(cursor.offset, 0x7fff);
    const struct vlan_hdr* tag = peek(&cursor, sizeof(*tag));
    if (!tag) return PAYLOAD_NOTHING;
    type = tag->h_vlan_encapsulated_proto;
    cursor.offset += sizeof(*tag);
  }
  walk->offset = cursor.offset;
  switch (bpf_ntohs(type)) {
    case ETH_P_IP:
      return PAYLOAD_IPV4;
    case ETH_P_IPV6:
      return PAYLOAD_IPV6;
    case TYPE_MPLS:
    case TYPE_MPLS_MULTICAST:
      return is_wanted(walk, ENCAPSULATION_MPLS) ? PAYLOAD_MPLS : PAYLOAD_NOTHING;
    case TYPE_PPPOE_SESSION:
      return is_wanted(walk, ENCAPSULATION_PPPOE) ? behind_pppoe(ctx, walk) : PAYLOAD_NOTHING;
    default:
      return PAYLOAD_NOTHING;
  }
}

/* Whether an Ethernet header at the offset leads to an IP header, or to more labels. */
__noinline __u32 leads_to_ip(struct xdp_md* ctx, struct walk* walk, __u32 offset) {
  if (!walk) return 0;
  struct walk trial = {.offset = offset, .end = walk->end, .kinds = walk->kinds};
  const __u32 payload = behind_ethernet(ctx, &trial);
  if (payload == PAYLOAD_MPLS) return 1;
  return payload != PAYLOAD_NOTHING && payload == by_version(ctx, &trial);
}

static __always_inline int has_ipv4_checksum(const __u8* header) {
  const __be32* words = (const void*)header;
  const __u64 sum = (__u64)words[0] + words[1] + words[2] + words[3] + words[4];
  const __u32 folded = (sum >> 32) + (sum >> 16 & 0xffff) + (sum & 0xffff);
  return (folded >> 16) + (folded & 0xffff) == 0xffff;
}

/* Whether a packet of the length is all that is left, but for what a link adds. */
static __always_inline int is_all(__u32 length, __u32 left) {
  return length == left || length + CHECK_SEQUENCE == left || (length < left && left <= PADDED_MAX);
}

/* walk->offset is behind the last label. Why in this order: Walk::behindLastLabel() in core/parse/take_apart.cpp. */
__noinline __u32 behind_last_label(struct xdp_md* ctx, struct walk* walk) {
  if (!walk) return PAYLOAD_NOTHING;
  struct cursor cursor = cursor_of(ctx, walk);
  const __u8* at = peek(&cursor, sizeof(struct iphdr));
  if (!at) return by_version(ctx, walk);
  const __u32 left = cursor.end - cursor.offset, first = at[0], version = first >> 4, begin = word_at(at);
  const int has_length4 = is_all(word_at(at + 2), left);
  if (first == 0x45 ? has_ipv4_checksum(at) : version == 4 && first > 0x45 && has_length4) return PAYLOAD_IPV4;
  if (version == 6 && is_all(sizeof(struct ipv6hdr) + word_at(at + 4), left)) return PAYLOAD_IPV6;
  const __u32 offset = cursor.offset;
  const __u32 is_ethernet = leads_to_ip(ctx, walk, offset);
  if (version == 0 && (begin == 0 || !is_ethernet) && leads_to_ip(ctx, walk, offset + 4)) {
    walk->offset = offset + 4;
    return PAYLOAD_ETHERNET;
  }
  if (is_ethernet) return PAYLOAD_ETHERNET;
  return first == 0x45 && has_length4 ? PAYLOAD_IPV4 : PAYLOAD_NOTHING;
}

__noinline __u32 behind_labels(struct xdp_md* ctx, struct walk* walk) {
  if (!walk) return PAYLOAD_NOTHING;
  struct cursor cursor = cursor_of(ctx, walk);
  int is_last = 0;
  for (int labels = 0; labels < MPLS_LABELS_MAX && !is_last; labels++) {
    cursor.offset = bounded(cursor.offset, 0x7fff);
    const __u8* label = peek(&cursor, 4);
    if (!label) return PAYLOAD_NOTHING;
    is_last = label[2] & 1;
    cursor.offset += 4;
  }
  walk->has_labels = 1;
  if (!is_last) return PAYLOAD_NOTHING;
  walk->offset = bounded(cursor.offset, 0x7fff);
  return behind_last_label(ctx, walk);
}

/* The version of the IP packet that begins at walk->offset afterwards; 0: there is none. */
static __always_inline __u32 read_link(struct xdp_md* ctx, struct walk* walk) {
  __u32 payload = walk->payload;
  for (int ethernets = 0; ethernets <= ETHERNETS_MAX; ethernets++) {
    if (payload == PAYLOAD_ETHERNET && ethernets < ETHERNETS_MAX) payload = behind_ethernet(ctx, walk);
    if (payload == PAYLOAD_MPLS) payload = behind_labels(ctx, walk);
    if (payload != PAYLOAD_ETHERNET) break;
  }
  if (payload == PAYLOAD_IP) payload = by_version(ctx, walk);
  return payload == PAYLOAD_IPV4 || payload == PAYLOAD_IPV6 ? payload : 0;
}

/* Reads the IP packet of the version at `offset` into a packet of zeros: as parse_packet. */
__noinline __u32 parse_network(struct xdp_md* ctx, struct packet* packet, __u32 offset, __u32 end, __u32 version) {
  if (!packet) return INLINE_NOT_IP;
  struct cursor cursor = {.data = (const __u8*)(long)ctx->data, .data_end = (const __u8*)(long)ctx->data_end};
  cursor.offset = bounded(offset, 0x7fff);
  cursor.end = end;
  packet->network_at = cursor.offset;
  return version == PAYLOAD_IPV4 ? parse_ipv4(&cursor, packet) : parse_ipv6(ctx, &cursor, packet);
}

/* Reads the next packet into one of zeros: INLINE_NO_ERROR, or what parse_packet would say of it. */
__noinline __u32 next_packet(struct xdp_md* ctx, struct packet* packet, struct walk* walk) {
  if (!packet || !walk) return INLINE_NOT_IP;
  const __u32 version = read_link(ctx, walk);
  if (!version) return INLINE_NOT_IP;
  return parse_network(ctx, packet, walk->offset, walk->end, version);
}

static __always_inline __u32 open_erspan3(struct xdp_md* ctx, struct walk* walk) {
  struct cursor cursor = cursor_of(ctx, walk);
  const __u8* header = peek(&cursor, 12);
  if (!header) return PAYLOAD_NOTHING;
  const __u32 frame_type = header[10] >> 2 & 0x1f, has_subheader = header[11] & 1;
  if (!skip_bytes(walk, 12 + has_subheader * 8)) return PAYLOAD_NOTHING;
  if (frame_type == 0) return PAYLOAD_ETHERNET;
  return frame_type == 2 ? PAYLOAD_IP : PAYLOAD_NOTHING;
}

__noinline __u32 open_gre(struct xdp_md* ctx, struct walk* walk) {
  if (!walk) return PAYLOAD_NOTHING;
  struct cursor cursor = cursor_of(ctx, walk);
  const __u8* header = peek(&cursor, 4);
  if (!header) return PAYLOAD_NOTHING;
  const __u32 flags = word_at(header), type = word_at(header + 2);
  if (flags & 0x4007) return PAYLOAD_NOTHING;
  const int is_mirror = type == TYPE_ERSPAN || type == TYPE_ERSPAN_3;
  if (!is_wanted(walk, is_mirror ? ENCAPSULATION_ERSPAN : ENCAPSULATION_GRE)) return PAYLOAD_NOTHING;
  const __u32 words = 1 + (flags >> 15 & 1) + (flags >> 13 & 1) + (flags >> 12 & 1);
  if (!skip_bytes(walk, words * 4)) return PAYLOAD_NOTHING;
  switch (type) {
    case ETH_P_IP:
      return PAYLOAD_IPV4;
    case ETH_P_IPV6:
      return PAYLOAD_IPV6;
    case TYPE_BRIDGING:
      return PAYLOAD_ETHERNET;
    case TYPE_MPLS:
    case TYPE_MPLS_MULTICAST:
      return is_wanted(walk, ENCAPSULATION_MPLS) ? PAYLOAD_MPLS : PAYLOAD_NOTHING;
    case TYPE_ERSPAN:
      return !(flags & 0x1000) || skip_bytes(walk, 8) ? PAYLOAD_ETHERNET : PAYLOAD_NOTHING;
    case TYPE_ERSPAN_3:
      return open_erspan3(ctx, walk);
    default:
      return PAYLOAD_NOTHING;
  }
}

static __always_inline __u32 open_vxlan(struct xdp_md* ctx, struct walk* walk) {
  struct cursor cursor = cursor_of(ctx, walk);
  const __u8* header = peek(&cursor, 8);
  if (!header || !(header[0] & 0x08)) return PAYLOAD_NOTHING;
  walk->offset = cursor.offset + 8;
  return PAYLOAD_ETHERNET;
}

static __always_inline __u32 open_geneve(struct xdp_md* ctx, struct walk* walk) {
  struct cursor cursor = cursor_of(ctx, walk);
  const __u8* header = peek(&cursor, 8);
  if (!header || header[0] >> 6 != 0) return PAYLOAD_NOTHING;
  const __u32 type = word_at(header + 2);
  if (!skip_bytes(walk, 8 + (header[0] & 0x3f) * 4)) return PAYLOAD_NOTHING;
  if (type == TYPE_BRIDGING) return PAYLOAD_ETHERNET;
  if (type == ETH_P_IP) return PAYLOAD_IPV4;
  return type == ETH_P_IPV6 ? PAYLOAD_IPV6 : PAYLOAD_NOTHING;
}

__noinline __u32 open_gtp_u(struct xdp_md* ctx, struct walk* walk) {
  if (!walk) return PAYLOAD_NOTHING;
  struct cursor cursor = cursor_of(ctx, walk);
  const __u8* header = peek(&cursor, 8);
  if (!header) return PAYLOAD_NOTHING;
  const __u32 flags = header[0];
  if ((flags & 0xf0) != 0x30 || header[1] != 0xff) return PAYLOAD_NOTHING;
  walk->offset = cursor.offset = bounded(cursor.offset + 8, 0x7fff);
  if (!(flags & 0x07)) return by_version(ctx, walk);
  const __u8* optional = peek(&cursor, 4);
  if (!optional) return PAYLOAD_NOTHING;
  __u32 next = flags & 0x04 ? optional[3] : 0;
  cursor.offset += 4;
  for (int extensions = 0; extensions < GTP_EXTENSIONS_MAX && next; extensions++) {
    cursor.offset = bounded(cursor.offset, 0x7fff);
    const __u8* length = peek(&cursor, 1);
    if (!length) return PAYLOAD_NOTHING;
    const __u32 bytes = *length * 4;
    if (bytes == 0 || cursor.offset + bytes > cursor.end) return PAYLOAD_NOTHING;
    cursor.offset = bounded(cursor.offset + bytes - 1, 0x7fff);
    const __u8* last = peek(&cursor, 1);
    if (!last) return PAYLOAD_NOTHING;
    next = *last;
    cursor.offset++;
  }
  if (next) return PAYLOAD_NOTHING;
  walk->offset = cursor.offset;
  return by_version(ctx, walk);
}

__noinline __u32 open_udp(struct xdp_md* ctx, struct walk* walk, __u32 port) {
  if (!walk) return PAYLOAD_NOTHING;
  __u32 kind = ENCAPSULATION_NONE;
  if (is_vxlan_port(port)) kind = ENCAPSULATION_VXLAN;
  if (port == PORT_GENEVE) kind = ENCAPSULATION_GENEVE;
  if (port == PORT_GTP_U) kind = ENCAPSULATION_GTP_U;
  if (kind == ENCAPSULATION_NONE || !is_wanted(walk, kind)) return PAYLOAD_NOTHING;
  if (!skip_bytes(walk, sizeof(struct udphdr))) return PAYLOAD_NOTHING;
  if (kind == ENCAPSULATION_VXLAN) return open_vxlan(ctx, walk);
  return kind == ENCAPSULATION_GENEVE ? open_geneve(ctx, walk) : open_gtp_u(ctx, walk);
}

/* Steps over the header of a tunnel, if the packet that next_packet() read is one: then 1. */
__noinline __u32 open_tunnel(struct xdp_md* ctx, struct packet* packet, struct walk* walk) {
  if (!packet || !walk || packet->is_later_fragment || packet->transport_words == 0) return 0;
  /* The packet ends by its own header, or where the one around it does. */
  const __u32 network_at = packet->network_at, length = packet->length;
  if (length != 0 && network_at + length < walk->end) walk->end = network_at + length;
  walk->offset = network_at + packet->transport_words * 4;
  walk->has_labels = 0;
  __u32 payload = PAYLOAD_NOTHING;
  switch (packet->traits.protocol) {
    case PROTOCOL_IPV4:
      if (is_wanted(walk, ENCAPSULATION_IPIP)) payload = PAYLOAD_IPV4;
      break;
    case PROTOCOL_IPV6:
      if (is_wanted(walk, ENCAPSULATION_6IN4)) payload = PAYLOAD_IPV6;
      break;
    case PROTOCOL_MPLS:
      if (is_wanted(walk, ENCAPSULATION_MPLS)) payload = PAYLOAD_MPLS;
      break;
    case PROTOCOL_GRE:
      payload = open_gre(ctx, walk);
      break;
    case IPPROTO_UDP:
      payload = open_udp(ctx, walk, packet->traits.destination_port);
      break;
  }
  walk->payload = payload;
  return payload != PAYLOAD_NOTHING;
}

/* Whether the packet may carry another, by its protocol or port, or, where it is not IP, by what it is. */
static __always_inline int may_carry(const struct packet* packet, __u32 error) {
  if (error != INLINE_NO_ERROR) return error == INLINE_NOT_IP;
  const __u8 protocol = packet->traits.protocol;
  if (protocol == IPPROTO_TCP) return 0;
  const __u16 port = packet->traits.destination_port;
  if (protocol == IPPROTO_UDP) return is_vxlan_port(port) || port == PORT_GENEVE || port == PORT_GTP_U;
  return protocol == PROTOCOL_IPV4 || protocol == PROTOCOL_IPV6 || protocol == PROTOCOL_GRE ||
         protocol == PROTOCOL_MPLS;
}
