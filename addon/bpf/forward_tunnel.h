/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the outer headers of a tunnel in front of a packet (RFC 2784, 2890, 2003, 4213, 2473, 7348), and the answer
 * to a packet that is too big for it (RFC 1191, RFC 4443). Knows no maps.
 */
#pragma once

#include <linux/udp.h>

#include "forward_packet.h"

/* Constants of linux/icmp.h and linux/icmpv6.h, which need the C library. */
struct icmp_head {
  __u8 type;
  __u8 code;
  __sum16 checksum;
};
#define ICMP_DEST_UNREACH 3
#define ICMP_FRAG_NEEDED 4
#define ICMPV6_PKT_TOOBIG 2

#define OUTER_TTL 64
#define GRE_KEY 0x2000
#define VXLAN_VNI 0x08000000
/* Source ports of VXLAN: the dynamic ones (RFC 7348, 5). */
#define VXLAN_PORTS 0xc000
#define VXLAN_PORTS_MASK 0x3fff

/* The same for all packets of a flow; fragments are a flow of their own. */
static __always_inline __u16 flow_port(const struct forwarding* packet) {
  const struct ip_address* from = &packet->source;
  const struct ip_address* to = &packet->destination;
  __u64 hash = from->halves[0] ^ from->halves[1] * 0x9e3779b97f4a7c15ull;
  hash = (hash ^ hash >> 32) + (to->halves[0] ^ to->halves[1]);
  hash *= 0x9e3779b97f4a7c15ull;
  hash ^= hash >> 29 ^ ((__u64)packet->protocol << 32 | (__u32)packet->source_port << 16 | packet->destination_port);
  hash *= 0x9e3779b97f4a7c15ull;
  return VXLAN_PORTS | (hash >> 48 & VXLAN_PORTS_MASK);
}

static __always_inline __u8 outer_protocol(const struct forward_tunnel* tunnel, int is_ipv4) {
  if (tunnel->kind == FORWARD_GRE) return IPPROTO_GRE;
  if (tunnel->kind == FORWARD_VXLAN) return IPPROTO_UDP;
  return is_ipv4 ? IPPROTO_IPIP : IPPROTO_IPV6;
}

/* The traffic class goes over as a whole: DSCP, and ECN in the normal mode of RFC 6040. The outer packet is never
 * fragmented, so that its identification may be 0 (RFC 6864). */
static __always_inline void write_outer4(struct iphdr* ip, const struct forward_tunnel* tunnel,
                                         const struct forwarding* packet) {
  __u32* words = (void*)ip;
  words[0] = bpf_htonl(0x45000000 | (__u32)packet->traffic_class << 16 | ((packet->length + tunnel->headers) & 0xffff));
  words[1] = bpf_htonl(IP_DF);
  words[2] = bpf_htonl(OUTER_TTL << 24 | (__u32)outer_protocol(tunnel, packet->is_ipv4) << 16);
  words[3] = tunnel->local.words[3];
  words[4] = tunnel->remote.words[3];
  ip->check = folded((__u64)words[0] + words[1] + words[2] + words[3] + words[4]);
}

static __always_inline void write_outer6(struct ipv6hdr* ip, const struct forward_tunnel* tunnel,
                                         const struct forwarding* packet) {
  __u32* words = (void*)ip;
  const __u32 payload = packet->length + tunnel->headers - sizeof(*ip);
  words[0] = bpf_htonl(0x60000000 | (__u32)packet->traffic_class << 20);
  words[1] = bpf_htonl(payload << 16 | (__u32)outer_protocol(tunnel, packet->is_ipv4) << 8 | OUTER_TTL);
  __builtin_memcpy(&ip->saddr, &tunnel->local, sizeof(ip->saddr));
  __builtin_memcpy(&ip->daddr, &tunnel->remote, sizeof(ip->daddr));
}

/* 0: written. */
static __always_inline int write_gre(__u8* at, const __u8* data_end, const struct forward_tunnel* tunnel, int is_ipv4) {
  __be16* fields = (void*)at;
  if (at + 4 > data_end) return -1;
  fields[0] = tunnel->has_key ? bpf_htons(GRE_KEY) : 0;
  fields[1] = is_ipv4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
  if (!tunnel->has_key) return 0;
  if (at + 8 > data_end) return -1;
  *(__be32*)(at + 4) = tunnel->key;
  return 0;
}

/* The frame's own Ethernet header, which stands in front of the packet, becomes that within. Without a checksum of UDP
 * (RFC 6935 for IPv6): it would have to go over all of the packet. */
static __always_inline int write_vxlan(__u8* at, const __u8* data_end, const struct forward_tunnel* tunnel,
                                       const struct forwarding* packet) {
  struct udphdr* udp = (void*)at;
  __be32* vxlan = (void*)(udp + 1);
  struct ethhdr* within = (void*)(vxlan + 2);
  if ((const __u8*)(within + 1) > data_end) return -1;
  udp->source = bpf_htons(flow_port(packet));
  udp->dest = tunnel->port;
  udp->len = bpf_htons(packet->length + sizeof(*udp) + 8 + sizeof(*within));
  udp->check = 0;
  vxlan[0] = bpf_htonl(VXLAN_VNI);
  vxlan[1] = tunnel->key;
  __builtin_memcpy(within->h_dest, tunnel->destination_mac, ETH_ALEN);
  __builtin_memcpy(within->h_source, tunnel->source_mac, ETH_ALEN);
  within->h_proto = packet->ethernet.h_proto;
  return 0;
}

/* FORWARD_TUNNELED: the frame has its outer headers, and still the MAC addresses that it came with. Not static, so that
 * the verifier looks at it alone. */
__noinline __u32 encapsulate(struct xdp_md* ctx, struct forwarding* packet, struct forward_tunnel* tunnel) {
  if (!packet || !tunnel) return FORWARD_DROP_NO_ROOM;
  /* Bytes behind the packet, such as padding of a short frame, would be read as a part of it within VXLAN. */
  const __s64 surplus = (__s64)(ctx->data_end - ctx->data) - (__s64)(packet->length + sizeof(struct ethhdr));
  if (surplus > 0 && bpf_xdp_adjust_tail(ctx, -(int)surplus)) return FORWARD_DROP_NO_ROOM;
  if (bpf_xdp_adjust_head(ctx, -(int)tunnel->headers)) return FORWARD_DROP_NO_ROOM;
  __u8* data = (void*)(long)ctx->data;
  const __u8* data_end = (const void*)(long)ctx->data_end;
  struct ethhdr* ethernet = (void*)data;
  __u8* at = data + sizeof(*ethernet);
  if (at + sizeof(struct iphdr) > data_end) return FORWARD_DROP_NO_ROOM;
  __builtin_memcpy(ethernet, &packet->ethernet, sizeof(*ethernet));
  ethernet->h_proto = tunnel->is_ipv4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
  if (tunnel->is_ipv4) {
    write_outer4((void*)at, tunnel, packet);
    at += sizeof(struct iphdr);
  } else {
    if (at + sizeof(struct ipv6hdr) > data_end) return FORWARD_DROP_NO_ROOM;
    write_outer6((void*)at, tunnel, packet);
    at += sizeof(struct ipv6hdr);
  }
  int error = 0;
  if (tunnel->kind == FORWARD_GRE) error = write_gre(at, data_end, tunnel, packet->is_ipv4);
  if (tunnel->kind == FORWARD_VXLAN) error = write_vxlan(at, data_end, tunnel, packet);
  return error ? FORWARD_DROP_NO_ROOM : FORWARD_TUNNELED;
}

static __always_inline void write_reply_ethernet(struct ethhdr* ethernet, const struct forwarding* packet) {
  __builtin_memcpy(ethernet->h_dest, packet->ethernet.h_source, ETH_ALEN);
  __builtin_memcpy(ethernet->h_source, packet->ethernet.h_dest, ETH_ALEN);
  ethernet->h_proto = packet->ethernet.h_proto;
}

/* The longest answer must be shorter than the packet. */
#define ANSWERED_FRAME_MIN (sizeof(struct ethhdr) + sizeof(struct ipv6hdr) + 8 + FORWARD_QUOTE_BYTES)

/* 0: the answer is written, in the name of the packet's destination. */
static __always_inline int write_too_big4(__u8* data, const __u8* data_end, const struct forwarding* packet,
                                          __u32 mtu) {
  __u32* ip = (void*)(data + sizeof(struct ethhdr));
  __u32* icmp = ip + sizeof(struct iphdr) / sizeof(*ip);
  if ((const __u8*)icmp + 8 + FORWARD_QUOTE_BYTES > data_end) return -1;
  ip[0] = bpf_htonl(0x45000000 | (sizeof(struct iphdr) + 8 + FORWARD_QUOTE_BYTES));
  ip[1] = bpf_htonl(IP_DF);
  ip[2] = bpf_htonl(OUTER_TTL << 24 | IPPROTO_ICMP << 16);
  ip[3] = packet->destination.words[3];
  ip[4] = packet->source.words[3];
  ((struct iphdr*)ip)->check = folded((__u64)ip[0] + ip[1] + ip[2] + ip[3] + ip[4]);
  icmp[0] = bpf_htonl(ICMP_DEST_UNREACH << 24 | ICMP_FRAG_NEEDED << 16);
  icmp[1] = bpf_htonl(mtu);
  ((struct icmp_head*)icmp)->checksum = folded(bpf_csum_diff(0, 0, icmp, 8 + FORWARD_QUOTE_BYTES, 0));
  return 0;
}

static __always_inline int write_too_big6(__u8* data, const __u8* data_end, const struct forwarding* packet,
                                          __u32 mtu) {
  __u32* ip = (void*)(data + sizeof(struct ethhdr));
  __u32* icmp = ip + sizeof(struct ipv6hdr) / sizeof(*ip);
  if ((const __u8*)icmp + 8 + FORWARD_QUOTE_BYTES > data_end) return -1;
  ip[0] = bpf_htonl(0x60000000);
  ip[1] = bpf_htonl((8 + FORWARD_QUOTE_BYTES) << 16 | IPPROTO_ICMPV6 << 8 | OUTER_TTL);
  __builtin_memcpy(ip + 2, &packet->destination, sizeof(packet->destination));
  __builtin_memcpy(ip + 6, &packet->source, sizeof(packet->source));
  icmp[0] = bpf_htonl(ICMPV6_PKT_TOOBIG << 24);
  icmp[1] = bpf_htonl(mtu);
  __u64 sum = bpf_htonl(8 + FORWARD_QUOTE_BYTES) + (__u64)bpf_htonl(IPPROTO_ICMPV6);
  for (int i = 2; i < 10; i++) sum += ip[i];
  sum += (__u32)bpf_csum_diff(0, 0, icmp, 8 + FORWARD_QUOTE_BYTES, 0);
  ((struct icmp_head*)icmp)->checksum = folded(sum);
  return 0;
}

/* Turns the frame into the answer that reports the MTU to its source. Not static, as encapsulate(). */
__noinline __u32 answer_too_big(struct xdp_md* ctx, struct forwarding* packet, __u32 mtu) {
  if (!packet) return FORWARD_DROP_TOO_BIG;
  const __s64 frame = (__s64)(ctx->data_end - ctx->data), quoted = sizeof(struct ethhdr) + FORWARD_QUOTE_BYTES;
  const int headers = 8 + (packet->is_ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
  if (frame > quoted && bpf_xdp_adjust_tail(ctx, (int)(quoted - frame))) return FORWARD_DROP_TOO_BIG;
  if (bpf_xdp_adjust_head(ctx, -headers)) return FORWARD_DROP_NO_ROOM;
  __u8* data = (void*)(long)ctx->data;
  const __u8* data_end = (const void*)(long)ctx->data_end;
  if (data + sizeof(struct ethhdr) > data_end) return FORWARD_DROP_TOO_BIG;
  write_reply_ethernet((void*)data, packet);
  const int error =
      packet->is_ipv4 ? write_too_big4(data, data_end, packet, mtu) : write_too_big6(data, data_end, packet, mtu);
  return error ? FORWARD_DROP_TOO_BIG : FORWARD_ANSWER_TOO_BIG;
}
