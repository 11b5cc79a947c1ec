/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads what forwarding must know of a frame, and carries out a hop. A frame of any other form than that of nearly all
 * is the kernel's. Knows nothing of maps.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "checksum.h"
#include "forward_abi.h"
#include "verifier_bounds.h"

/* Constants of the kernel's internal headers, or of headers that conflict with those of the C library. */
#define AF_INET 2
#define AF_INET6 10
#define IP_DF 0x4000
#define IP_MF 0x2000
#define IP_OFFSET 0x1fff
#define IP6_OFFSET 0xfff8
#define TCPHDR_SYN 0x02
#define TCP_FLAGS_AT 13

struct forwarding {
  struct ip_address source;
  struct ip_address destination;
  struct ethhdr ethernet;
  /* Length of the IP packet. */
  __u16 length;
  __u8 is_ipv4;
  __u8 traffic_class;
  __u8 protocol;
  /* The ports are there: not of a fragment. Of others they are 0. */
  __u8 shows_ports;
  __u8 is_syn;
  __u8 may_fragment;
  /* Whether the packet must not be answered by an ICMP error (RFC 1122, 3.2.2; RFC 4443, 2.4). */
  __u8 is_unanswerable;
  __be16 source_port;
  __be16 destination_port;
};

/* FORWARD_OUTCOMES: all is well so far. */
#define FORWARD_GOES_ON FORWARD_OUTCOMES

static __always_inline int is_echo(__u8 type) { return type == 0 || type == 8; }

/* `at` is where the transport header begins, with at least four bytes. */
static __always_inline void read_transport(const __u8* at, const __u8* data_end, struct forwarding* packet) {
  const __u8 protocol = packet->protocol;
  if (protocol == IPPROTO_ICMP && packet->is_ipv4) packet->is_unanswerable = !is_echo(*at);
  if (protocol == IPPROTO_ICMPV6 && !packet->is_ipv4) packet->is_unanswerable = *at < 128;
  if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != IPPROTO_SCTP) return;
  packet->shows_ports = 1;
  packet->source_port = *(const __be16*)at;
  packet->destination_port = *(const __be16*)(at + 2);
  if (protocol != IPPROTO_TCP || at + sizeof(struct tcphdr) > data_end) return;
  packet->is_syn = (at[TCP_FLAGS_AT] & TCPHDR_SYN) != 0;
}

/* Sources that no router lets through (RFC 1812, 5.3.7). */
static __always_inline int is_martian4(__be32 source) {
  const __u32 first = bpf_ntohl(source) >> 24;
  return first == 0 || first == 127 || first >= 224;
}

static __always_inline __u32 read_ipv4(struct xdp_md* ctx, struct forwarding* packet) {
  const __u8* data = (const void*)(long)ctx->data;
  const __u8* data_end = (const void*)(long)ctx->data_end;
  const struct iphdr* ip = (const void*)(data + sizeof(struct ethhdr));
  const __u8* transport = (const void*)(ip + 1);
  if (transport + 4 > data_end) return FORWARD_KERNEL_HEADER;
  if (*(const __u8*)ip != 0x45 || is_martian4(ip->saddr)) return FORWARD_KERNEL_HEADER;
  const __u32* words = (const void*)ip;
  if (folded((__u64)words[0] + words[1] + words[2] + words[3] + words[4])) return FORWARD_KERNEL_HEADER;
  packet->length = bpf_ntohs(ip->tot_len);
  packet->is_ipv4 = 1;
  packet->traffic_class = ip->tos;
  packet->protocol = ip->protocol;
  packet->may_fragment = !(ip->frag_off & bpf_htons(IP_DF));
  packet->source.words[3] = ip->saddr;
  packet->destination.words[3] = ip->daddr;
  if (ip->frag_off & bpf_htons(IP_OFFSET)) {
    packet->is_unanswerable = 1;
  } else if (!(ip->frag_off & bpf_htons(IP_MF))) {
    read_transport(transport, data_end, packet);
  }
  return ip->ttl > 1 ? FORWARD_GOES_ON : FORWARD_KERNEL_TTL;
}

/* Addresses of one link or of many hosts: multicast, fe80::/10, and ::/127. */
static __always_inline int is_special6(const struct in6_addr* address) {
  const __u32* words = address->in6_u.u6_addr32;
  if ((words[0] & bpf_htonl(0xff000000)) == bpf_htonl(0xff000000)) return 1;
  if ((words[0] & bpf_htonl(0xffc00000)) == bpf_htonl(0xfe800000)) return 1;
  return (words[0] | words[1] | words[2] | (words[3] & bpf_htonl(~1u))) == 0;
}

static __always_inline __u32 read_ipv6(struct xdp_md* ctx, struct forwarding* packet) {
  const __u8* data = (const void*)(long)ctx->data;
  const __u8* data_end = (const void*)(long)ctx->data_end;
  const struct ipv6hdr* ip = (const void*)(data + sizeof(struct ethhdr));
  const __u8* transport = (const void*)(ip + 1);
  if (transport + 4 > data_end || ip->version != 6 || ip->payload_len == 0) return FORWARD_KERNEL_HEADER;
  if (is_special6(&ip->saddr) || is_special6(&ip->daddr)) return FORWARD_KERNEL_HEADER;
  const __u32 length = bpf_ntohs(ip->payload_len);
  /* Routers look at hop-by-hop options. */
  if (ip->nexthdr == IPPROTO_HOPOPTS || length > 0xffff - sizeof(*ip)) return FORWARD_KERNEL_HEADER;
  packet->length = sizeof(*ip) + length;
  packet->traffic_class = ip->priority << 4 | ip->flow_lbl[0] >> 4;
  packet->protocol = ip->nexthdr;
  __builtin_memcpy(&packet->source, &ip->saddr, sizeof(ip->saddr));
  __builtin_memcpy(&packet->destination, &ip->daddr, sizeof(ip->daddr));
  read_transport(transport, data_end, packet);
  /* Behind extension headers may be an ICMP error. */
  if (ip->nexthdr == IPPROTO_DSTOPTS || ip->nexthdr == IPPROTO_ROUTING || ip->nexthdr == IPPROTO_FRAGMENT) {
    packet->is_unanswerable = 1;
  }
  return ip->hop_limit > 1 ? FORWARD_GOES_ON : FORWARD_KERNEL_TTL;
}

static __always_inline int is_tagged(__be16 type) {
  return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD) || type == bpf_htons(ETH_P_QINQ1);
}

/* FORWARD_GOES_ON, or why the packet is the kernel's. `packet` must be zeros. */
static __always_inline __u32 read_frame(struct xdp_md* ctx, struct forwarding* packet) {
  const struct ethhdr* ethernet = (const void*)(long)ctx->data;
  if ((const void*)(ethernet + 1) > (const void*)(long)ctx->data_end) return FORWARD_KERNEL_NOT_IP;
  /* By words: the compiler would go by bytes, which the processor must put together again when words are compared. */
  const __u32* from = (const void*)ethernet;
  __u32* to = (void*)&packet->ethernet;
  for (int i = 0; i < 3; i++) to[i] = from[i];
  packet->ethernet.h_proto = ethernet->h_proto;
  if (is_tagged(ethernet->h_proto)) return FORWARD_KERNEL_VLAN;
  __u32 outcome = FORWARD_KERNEL_NOT_IP;
  if (ethernet->h_proto == bpf_htons(ETH_P_IP)) outcome = read_ipv4(ctx, packet);
  if (ethernet->h_proto == bpf_htons(ETH_P_IPV6)) outcome = read_ipv6(ctx, packet);
  if (outcome != FORWARD_GOES_ON) return outcome;
  const __u32 frame = ctx->data_end - ctx->data;
  return packet->length + sizeof(*ethernet) > frame ? FORWARD_KERNEL_HEADER : outcome;
}

/* Takes one off the TTL or the hop limit. */
static __always_inline void pass_hop(struct xdp_md* ctx, const struct forwarding* packet) {
  const __u8* data_end = (const void*)(long)ctx->data_end;
  __u8* network = (void*)(long)ctx->data + sizeof(struct ethhdr);
  if (packet->is_ipv4) {
    struct iphdr* ip = (void*)network;
    if ((const __u8*)(ip + 1) > data_end) return;
    /* As the kernel's ip_decrease_ttl(): the TTL is the high byte of its word. */
    const __u32 check = ip->check + bpf_htons(0x0100);
    ip->check = check + (check >= 0xffff);
    ip->ttl--;
  } else {
    struct ipv6hdr* ip = (void*)network;
    if ((const __u8*)(ip + 1) > data_end) return;
    ip->hop_limit--;
  }
}

#define TCP_OPTION_END 0
#define TCP_OPTION_NOP 1
#define TCP_OPTION_MSS 2
#define TCP_OPTIONS_MAX 40

/* Lowers the MSS that a SYN or SYN-ACK offers to `most`; 1: it was higher. Not static, so that the verifier looks at it
 * alone. */
__noinline int clamp_mss(struct xdp_md* ctx, __u32 transport_at, __u32 most) {
  const __u8* data_end = (const void*)(long)ctx->data_end;
  struct tcphdr* tcp = (void*)(long)ctx->data + bounded(transport_at, 0x3f);
  if ((const __u8*)(tcp + 1) > data_end) return 0;
  const __u32 header = tcp->doff * 4;
  __u32 at = sizeof(*tcp);
  for (int i = 0; i < TCP_OPTIONS_MAX; i++) {
    at = bounded(at, 0x3f);
    __u8* option = (__u8*)tcp + at;
    if (at + 4 > header || option + 4 > data_end || option[0] == TCP_OPTION_END) return 0;
    if (option[0] == TCP_OPTION_NOP) {
      at++;
      continue;
    }
    if (option[0] != TCP_OPTION_MSS) {
      if (option[1] < 2) return 0;
      at += option[1];
      if (at > header) return 0;
      continue;
    }
    const __u16 was = option[2] << 8 | option[3];
    if (option[1] != 4 || was <= most) return 0;
    option[2] = most >> 8;
    option[3] = most;
    /* In words of the checksum, which begin at even offsets: at an odd one the bytes change places. */
    __u16 old_word = bpf_htons(was), new_word = bpf_htons((__u16)most);
    if (at & 1) {
      old_word = __builtin_bswap16(old_word);
      new_word = __builtin_bswap16(new_word);
    }
    tcp->check = adjusted(tcp->check, old_word, new_word);
    return 1;
  }
  return 0;
}
