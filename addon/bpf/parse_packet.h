/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the headers of one frame in the kernel. The same rules, in the same order, as core/parse/packet_parser.cpp: a
 * test runs both over the same frames. Knows nothing of maps.
 *
 * Nearly all frames have one form, which parse_common() reads in a few instructions; the rest reads every form.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <stddef.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "encapsulation_abi.h"
#include "filter_abi.h"
#include "verifier_bounds.h"

/* Constants of the kernel's internal headers, by its names: if_vlan.h, net/ipv6.h, net/ip.h, net/tcp.h. */
struct vlan_hdr {
  __be16 h_vlan_TCI;
  __be16 h_vlan_encapsulated_proto;
};
struct frag_hdr {
  __u8 nexthdr;
  __u8 reserved;
  __be16 frag_off;
  __be32 identification;
};
#define IP_MF 0x2000
#define IP_OFFSET 0x1fff
#define IP6_OFFSET 0xfff8
#define TCPHDR_SYN 0x02
#define TCPHDR_ACK 0x10
/* The flags are the last byte before the window. */
#define TCP_FLAGS_AT (offsetof(struct tcphdr, window) - 1)

/* Extension headers that the kernel does not know (RFC 7401, RFC 5533). */
#define IPPROTO_HIP 139
#define IPPROTO_SHIM6 140

struct packet {
  struct ip_address source;
  struct ip_address destination;
  struct filter_traits traits;
  /* INLINE_TCP to INLINE_OTHER. */
  __u8 transport;
  __u8 is_later_fragment;
  /* Where in the frame the IP header begins. */
  __u8 network_at;
  /* Bytes from there to the transport header, or what else the last IP header names, divided by 4; 0: too many. */
  __u8 transport_words;
  /* Length of the IP packet with its header, as the header states it; 0 if it does not. */
  __u32 length;
  /* TCP: fields of its header, if traits.shows says that its flags are shown. UDP: the first bytes of its payload, if
   * it is as long. */
  union {
    __u64 numbers;
    struct {
      __be32 sequence;
      __be32 acknowledgement;
    };
    struct {
      __be16 udp_length;
      __be16 udp_checksum;
      __u8 udp_payload[4];
    };
  };
};

#define DNS_RESPONSE 0x80
#define DNS_OPCODE 0x78

/* Whether a UDP packet is a query, if it is of DNS. */
static __always_inline int is_dns_query(const struct packet* packet) {
  return (packet->udp_payload[2] & (DNS_RESPONSE | DNS_OPCODE)) == 0;
}

static __always_inline int is_syn(const struct packet* packet) {
  return (packet->traits.tcp_flags & (TCPHDR_SYN | TCPHDR_ACK)) == TCPHDR_SYN;
}

static __always_inline int is_ipv4(const struct ip_address* address) {
  return (address->halves[0] | (address->words[2] ^ bpf_htonl(0xffff))) == 0;
}

/* Where in the frame the reading is. `end` is where the packet ends by its IP header, at most where the frame does. */
struct cursor {
  const __u8* data;
  const __u8* data_end;
  __u32 offset;
  __u32 end;
};

#define EXTENSIONS_MAX 8

/* The next `bytes` bytes, or 0 when there are fewer. The second test is for the verifier, which knows no `end`. */
static __always_inline const void* peek(const struct cursor* cursor, __u32 bytes) {
  if (cursor->offset + bytes > cursor->end) return 0;
  const __u8* at = cursor->data + cursor->offset;
  /* Otherwise the compiler may make a second pointer of the same, which the verifier has not seen tested. */
  asm volatile("" : "+r"(at));
  return at + bytes > cursor->data_end ? 0 : at;
}

static __always_inline void limit(struct cursor* cursor, __u32 bytes) {
  if (cursor->offset + bytes < cursor->end) cursor->end = cursor->offset + bytes;
}

/* A length in host order. The compiler is kept from going on with the unswapped number beside it, where that would do:
 * it has no register for both, and each packet would pay for a detour over the stack. */
static __always_inline __u32 length_in(__be16 field) {
  __u32 length = bpf_ntohs(field);
  asm volatile("" : "+r"(length));
  return length;
}

static __always_inline int is_vlan_tag(__be16 type) {
  return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD) || type == bpf_htons(ETH_P_QINQ1);
}

static __always_inline __u8 class_of(__u8 protocol) {
  if (protocol == IPPROTO_TCP) return INLINE_TCP;
  if (protocol == IPPROTO_UDP) return INLINE_UDP;
  return protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6 ? INLINE_ICMP : INLINE_OTHER;
}

/* These all begin with the source port and the destination port. */
static __always_inline int has_ports(__u8 protocol) {
  return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP ||
         protocol == IPPROTO_UDPLITE || protocol == IPPROTO_DCCP;
}

static __always_inline void parse_transport(const struct cursor* cursor, struct packet* packet) {
  struct filter_traits* traits = &packet->traits;
  packet->transport = class_of(traits->protocol);
  if (packet->is_later_fragment || !has_ports(traits->protocol)) return;
  const struct udphdr* ports = peek(cursor, offsetof(struct udphdr, len));
  if (!ports) return;
  traits->source_port = bpf_ntohs(ports->source);
  traits->destination_port = bpf_ntohs(ports->dest);
  traits->shows |= FILTER_SHOWS_PORTS;
  const __u8* numbers = peek(cursor, offsetof(struct tcphdr, seq) + sizeof(packet->numbers));
  if (!numbers) return;
  __builtin_memcpy(&packet->numbers, numbers + offsetof(struct tcphdr, seq), sizeof(packet->numbers));
  if (traits->protocol != IPPROTO_TCP) return;
  const __u8* tcp = peek(cursor, TCP_FLAGS_AT + 1);
  if (!tcp) return;
  traits->tcp_flags = tcp[TCP_FLAGS_AT];
  traits->shows |= FILTER_SHOWS_FLAGS;
}

static __always_inline __u32 parse_ipv4(struct cursor* cursor, struct packet* packet) {
  const struct iphdr* ip = peek(cursor, sizeof(*ip));
  if (!ip) return INLINE_TRUNCATED_IPV4;
  __u32 header_length = ip->ihl * 4;
  __u32 total_length = length_in(ip->tot_len);
  /* Segmentation offload leaves a total length of 0. */
  if (ip->version != 4 || header_length < sizeof(*ip) || (total_length != 0 && total_length < header_length)) {
    return INLINE_BAD_IPV4_HEADER;
  }
  packet->source.words[2] = packet->destination.words[2] = bpf_htonl(0xffff);
  packet->source.words[3] = ip->saddr;
  packet->destination.words[3] = ip->daddr;
  packet->traits.protocol = ip->protocol;
  packet->length = total_length;
  if (ip->frag_off & bpf_htons(IP_MF | IP_OFFSET)) packet->traits.shows = FILTER_SHOWS_FRAGMENT;
  packet->is_later_fragment = (ip->frag_off & bpf_htons(IP_OFFSET)) != 0;
  if (total_length != 0) limit(cursor, total_length);
  cursor->offset += header_length;
  packet->transport_words = ip->ihl;
  parse_transport(cursor, packet);
  return INLINE_NO_ERROR;
}

/* The length of the extension header that the protocol names, 0 where the chain ends: at a transport header or
 * where no more can be read. */
static __always_inline __u32 extension_length(const struct cursor* cursor, struct packet* packet) {
  const struct ipv6_opt_hdr* header = peek(cursor, sizeof(*header));
  if (!header) return 0;
  switch (packet->traits.protocol) {
    case IPPROTO_HOPOPTS:
    case IPPROTO_ROUTING:
    case IPPROTO_DSTOPTS:
    case IPPROTO_MH:
    case IPPROTO_HIP:
    case IPPROTO_SHIM6:
      return (header->hdrlen + 1) * 8;
    case IPPROTO_AH:
      return (header->hdrlen + 2) * 4;
    case IPPROTO_FRAGMENT: {
      const struct frag_hdr* fragment = peek(cursor, sizeof(*fragment));
      if (!fragment) return 0;
      packet->traits.shows = FILTER_SHOWS_FRAGMENT;
      packet->is_later_fragment = (fragment->frag_off & bpf_htons(IP6_OFFSET)) != 0;
      return sizeof(*fragment);
    }
    default:
      return 0;
  }
}

/* Where the transport header begins. The mask is beyond all that eight headers reach; it gives the verifier the same
 * bound of the offset in each round, so that it does not follow every sum of lengths. Not static for the reason of
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
    const __u8* next_header = peek(&cursor, sizeof(*next_header));
    if (!next_header) break;
    packet->traits.protocol = *next_header;
    cursor.offset += length;
    if (packet->is_later_fragment) break;
  }
  return cursor.offset;
}

static __always_inline int is_mapped(const struct in6_addr* address) {
  return address->s6_addr32[0] == 0 && address->s6_addr32[1] == 0 && address->s6_addr32[2] == bpf_htonl(0xffff);
}

static __always_inline __u32 parse_ipv6(struct xdp_md* ctx, struct cursor* cursor, struct packet* packet) {
  const struct ipv6hdr* ip = peek(cursor, sizeof(*ip));
  if (!ip) return INLINE_TRUNCATED_IPV6;
  if (ip->version != 6 || is_mapped(&ip->daddr)) return INLINE_BAD_IPV6_HEADER;
  if (!is_mapped(&ip->saddr)) __builtin_memcpy(&packet->source, &ip->saddr, sizeof(ip->saddr));
  __builtin_memcpy(&packet->destination, &ip->daddr, sizeof(ip->daddr));
  packet->traits.protocol = ip->nexthdr;
  __u32 payload_length = length_in(ip->payload_len);
  cursor->offset += sizeof(*ip);
  /* 0 stands for a jumbogram or for segmentation offload. */
  if (payload_length != 0) {
    packet->length = sizeof(*ip) + payload_length;
    limit(cursor, payload_length);
  }
  const __u32 extensions_at = cursor->offset;
  cursor->offset = skip_extensions(ctx, packet, extensions_at, cursor->end) & 0x7fff;
  const __u32 words = (sizeof(*ip) + cursor->offset - extensions_at) / 4;
  packet->transport_words = words <= 0xff ? words : 0;
  parse_transport(cursor, packet);
  return INLINE_NO_ERROR;
}

/* The second half of an IPv4 address. Written as it is read: a processor is slow to read at once what was written in
 * two pieces just before. */
static __always_inline __u64 mapped_half(__be32 address) {
  struct ip_address mapped;
  mapped.words[2] = bpf_htonl(0xffff);
  mapped.words[3] = address;
  return mapped.halves[1];
}

/* Whether the frame has the form of nearly all: IPv4 without VLAN tags, options and fragments, and whole headers of TCP
 * or UDP. Otherwise `packet` is still zeros. */
static __always_inline int parse_common(struct xdp_md* ctx, struct packet* packet) {
  const struct ethhdr* ethernet = (const void*)(long)ctx->data;
  const struct iphdr* ip = (const void*)(ethernet + 1);
  const struct tcphdr* tcp = (const void*)(ip + 1);
  if ((const void*)&tcp->window > (const void*)(long)ctx->data_end) return 0;
  if (ethernet->h_proto != bpf_htons(ETH_P_IP) || *(const __u8*)ip != 0x45) return 0;
  if (ip->frag_off & bpf_htons(IP_MF | IP_OFFSET)) return 0;
  const __u32 length = length_in(ip->tot_len);
  if (length < sizeof(*ip) + TCP_FLAGS_AT + 1) return 0;
  if (ip->protocol != IPPROTO_TCP && ip->protocol != IPPROTO_UDP) return 0;
  /* Without branches, which no processor predicts in mixed traffic: the lowest bit of the number separates UDP and TCP.
   */
  const __u8 is_udp = ip->protocol & 1, if_tcp = is_udp - 1;
  packet->length = length;
  packet->network_at = sizeof(*ethernet);
  packet->transport_words = sizeof(*ip) / 4;
  packet->numbers = *(const __u64*)&tcp->seq;
  packet->source.halves[1] = mapped_half(ip->saddr);
  packet->destination.halves[1] = mapped_half(ip->daddr);
  packet->transport = INLINE_TCP + is_udp * (INLINE_UDP - INLINE_TCP);
  const struct filter_traits traits = {.source_port = bpf_ntohs(tcp->source),
                                       .destination_port = bpf_ntohs(tcp->dest),
                                       .protocol = ip->protocol,
                                       .tcp_flags = ((const __u8*)tcp)[TCP_FLAGS_AT] & if_tcp,
                                       .shows = FILTER_SHOWS_PORTS | (FILTER_SHOWS_FLAGS & if_tcp)};
  packet->traits.all = traits.all;
  return 1;
}

/* Steps over VLAN tags, the first of which is at `offset`: the type of what follows, and in the higher bits where it
 * begins; below 0x10000: the error. Not static for the reason of parse_packet, which would go on from each number of
 * tags. */
__noinline __u32 skip_tags(struct xdp_md* ctx, __u32 offset) {
  struct cursor cursor = {.data = (const __u8*)(long)ctx->data, .data_end = (const __u8*)(long)ctx->data_end};
  cursor.offset = offset;
  cursor.end = ctx->data_end - ctx->data;
  for (int tags = 0; tags < VLAN_TAGS_MAX; tags++) {
    cursor.offset = bounded(cursor.offset, 0x7fff);
    const struct vlan_hdr* tag = peek(&cursor, sizeof(*tag));
    if (!tag) return INLINE_TRUNCATED_ETHERNET;
    cursor.offset += sizeof(*tag);
    const __be16 type = tag->h_vlan_encapsulated_proto;
    if (!is_vlan_tag(type)) return cursor.offset << 16 | bpf_ntohs(type);
  }
  return INLINE_TOO_MANY_VLAN_TAGS;
}

/* INLINE_NO_ERROR, or why the packet is counted to no host. `packet` must be zeros.
 * Not static, so that the verifier looks at it alone: what it finds out about a packet on each of the many ways through
 * here would otherwise multiply the ways through all that follows.
 */
__noinline __u32 parse_packet(struct xdp_md* ctx, struct packet* packet) {
  if (!packet) return INLINE_NOT_IP;
  if (parse_common(ctx, packet)) return INLINE_NO_ERROR;
  struct cursor cursor = {.data = (const __u8*)(long)ctx->data, .data_end = (const __u8*)(long)ctx->data_end};
  cursor.end = ctx->data_end - ctx->data;
  const struct ethhdr* ethernet = peek(&cursor, sizeof(*ethernet));
  if (!ethernet) return INLINE_TRUNCATED_ETHERNET;
  __be16 type = ethernet->h_proto;
  cursor.offset = sizeof(*ethernet);
  if (is_vlan_tag(type)) {
    const __u32 tagged = skip_tags(ctx, cursor.offset);
    if (tagged >> 16 == 0) return tagged;
    type = bpf_htons((__u16)tagged);
    cursor.offset = bounded(tagged >> 16, 0xff);
  }
  packet->network_at = cursor.offset;
  if (type == bpf_htons(ETH_P_IP)) return parse_ipv4(&cursor, packet);
  if (type == bpf_htons(ETH_P_IPV6)) return parse_ipv6(ctx, &cursor, packet);
  return INLINE_NOT_IP;
}
