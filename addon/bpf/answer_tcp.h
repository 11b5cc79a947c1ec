/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Turns a segment into its answer, in the same frame: addresses and ports change places, VLAN tags stay, options and
 * data go. The answer is never longer than what it answers. Knows nothing of maps but the cookie's.
 */
#pragma once

#include "checksum.h"
#include "validate_source.h"

#define ANSWER_TTL 64

struct answer {
  __be32 sequence;
  __be32 acknowledgement;
  __u8 flags;
};

static __always_inline struct answer answer_to(struct packet* packet, __u64 now_ns, __u32 verdict) {
  if (verdict == FILTER_ANSWER_RST) {
    return (struct answer){.sequence = packet->acknowledgement, .flags = TCPHDR_RST};
  }
  struct filter_head* head = filter_head_of();
  const __u32 key = head ? head->cookie_key & 1 : 0;
  const __u32 cookie = bpf_htonl(cookie_of(packet, key, cookie_period(now_ns), verdict == FILTER_ANSWER_ACK));
  if (verdict == FILTER_ANSWER_ACK) return (struct answer){.acknowledgement = cookie, .flags = TCPHDR_ACK};
  return (struct answer){.sequence = cookie,
                         .acknowledgement = bpf_htonl(bpf_ntohl(packet->sequence) + 1),
                         .flags = TCPHDR_SYN | TCPHDR_ACK};
}

static __always_inline __u64 sum_of(const struct ip_address* address) {
  const __u32* words = address->words;
  return (__u64)words[0] + words[1] + words[2] + words[3];
}

static __always_inline void write_ethernet(struct ethhdr* ethernet) {
  __u8 address[ETH_ALEN];
  __builtin_memcpy(address, ethernet->h_dest, ETH_ALEN);
  __builtin_memcpy(ethernet->h_dest, ethernet->h_source, ETH_ALEN);
  __builtin_memcpy(ethernet->h_source, address, ETH_ALEN);
}

/* `bytes` are those after the IP header. */
static __always_inline void write_ipv4(struct iphdr* ip, const struct packet* packet, __u8 protocol, __u32 bytes) {
  __u32* words = (__u32*)ip;
  words[0] = bpf_htonl(0x45000000 | (sizeof(struct iphdr) + bytes));
  words[1] = bpf_htonl(0x4000);
  words[2] = bpf_htonl(ANSWER_TTL << 24 | protocol << 16);
  words[3] = packet->destination.words[3];
  words[4] = packet->source.words[3];
  ip->check = folded((__u64)words[0] + words[1] + words[2] + words[3] + words[4]);
}

static __always_inline void write_ipv6(struct ipv6hdr* ip, const struct packet* packet, __u8 protocol, __u32 bytes) {
  __u32* words = (__u32*)ip;
  words[0] = bpf_htonl(0x60000000);
  words[1] = bpf_htonl(bytes << 16 | protocol << 8 | ANSWER_TTL);
  __builtin_memcpy(&ip->saddr, &packet->destination, sizeof(ip->saddr));
  __builtin_memcpy(&ip->daddr, &packet->source, sizeof(ip->daddr));
}

static __always_inline void write_tcp(struct tcphdr* tcp, const struct packet* packet, struct answer answer,
                                      __u64 sum) {
  __u32* words = (__u32*)tcp;
  words[0] = bpf_htonl((__u32)packet->traits.destination_port << 16 | packet->traits.source_port);
  words[1] = answer.sequence;
  words[2] = answer.acknowledgement;
  words[3] = bpf_htonl(5u << 28 | (__u32)answer.flags << 16);
  words[4] = 0;
  sum += bpf_htonl(IPPROTO_TCP << 16 | sizeof(struct tcphdr));
  tcp->check = folded(sum + words[0] + words[1] + words[2] + words[3]);
}

/* XDP_TX, or XDP_DROP where the frame does not hold what its headers say. Not static for the reason of parse_packet. */
__noinline int answer_tcp(struct xdp_md* ctx, struct packet* packet, __u64 now_ns, __u32 verdict) {
  if (!packet) return XDP_DROP;
  const struct answer answer = answer_to(packet, now_ns, verdict);
  __u8* data = (void*)(long)ctx->data;
  const __u8* data_end = (void*)(long)ctx->data_end;
  const __u32 network_at = bounded(packet->network_at, 0x3f);
  __u8* network = data + network_at;
  /* Before the others: the compiler leaves out a check that those before it imply, which the verifier does not see. */
  if (network_at < sizeof(struct ethhdr) || data + sizeof(struct ethhdr) > data_end) return XDP_DROP;
  if (network + sizeof(struct iphdr) + sizeof(struct tcphdr) > data_end) return XDP_DROP;
  const __u8* end = network + sizeof(struct iphdr) + sizeof(struct tcphdr);
  if (is_ipv4(&packet->destination)) {
    const __u64 sum = (__u64)packet->source.words[3] + packet->destination.words[3];
    write_ipv4((void*)network, packet, IPPROTO_TCP, sizeof(struct tcphdr));
    write_tcp((void*)(network + sizeof(struct iphdr)), packet, answer, sum);
  } else {
    if (network + sizeof(struct ipv6hdr) + sizeof(struct tcphdr) > data_end) return XDP_DROP;
    end = network + sizeof(struct ipv6hdr) + sizeof(struct tcphdr);
    write_ipv6((void*)network, packet, IPPROTO_TCP, sizeof(struct tcphdr));
    write_tcp((void*)(network + sizeof(struct ipv6hdr)), packet, answer,
              sum_of(&packet->source) + sum_of(&packet->destination));
  }
  write_ethernet((void*)data);
  const long surplus = data_end - end;
  return surplus > 0 && bpf_xdp_adjust_tail(ctx, -surplus) ? XDP_DROP : XDP_TX;
}
