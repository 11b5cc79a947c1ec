/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Turns a DNS query into the answer that it is too long for UDP (TC, RFC 1035, section 4.1.1), in the same frame: the
 * question stays, and of EDNS the record without its options (RFC 6891), so that the answer is never longer than the
 * query. The client asks again by TCP (RFC 7766, section 5).
 */
#pragma once

#include "answer_tcp.h"

struct dns_header {
  __be16 id;
  __u8 flags;
  __u8 more_flags;
  __be16 questions;
  __be16 answers;
  __be16 authorities;
  __be16 additional;
};
#define DNS_TRUNCATED 0x02
#define DNS_RECURSION_DESIRED 0x01
#define DNS_CHECKING_DISABLED 0x10
#define DNS_LABEL_MAX 63
#define DNS_LABELS_MAX 128
#define DNS_NAME_MAX 255
#define DNS_TYPE_OPT 41

/* A resource record without its name and its data, of the form that OPT gives it. */
struct dns_opt {
  __u8 root;
  __be16 type;
  __be16 payload_size;
  __u8 extended_code;
  __u8 version;
  __be16 flags;
  __be16 length;
} __attribute__((packed));

/* The bytes of the name that the query asks for; 0: there is no whole name. Not static for the reason of parse_packet,
 * and so that the verifier does not know how many labels at most. */
__noinline __u32 dns_name_bytes(struct xdp_md* ctx, __u32 name_at, __u32 labels_max) {
  const __u8* name = (const __u8*)(long)ctx->data + bounded(name_at, 0x7f);
  const __u8* data_end = (const __u8*)(long)ctx->data_end;
  __u32 at = 0;
  for_countdown(left, (__s64)bounded(labels_max, 0xff)) {
    const __u8* label = name + bounded(at, 0xff);
    if (label + 1 > data_end) return 0;
    if (*label == 0) return at + 1;
    if (*label > DNS_LABEL_MAX) return 0;
    at += *label + 1;
    if (at >= DNS_NAME_MAX) return 0;
  }
  return 0;
}

/* Adds `bytes` bytes from `at` on to `sum`, as 16-bit words. Not static for the reason of parse_packet, and so that the
 * verifier does not know the first sum: it would follow each sum on its own. */
__noinline __u32 add_bytes(struct xdp_md* ctx, __u32 at, __u32 bytes, __u32 sum) {
  const __u8* from = (const __u8*)(long)ctx->data + bounded(at, 0x7f);
  const __u8* data_end = (const __u8*)(long)ctx->data_end;
  const __u64 words = bounded(bytes / 2, 0xff);
  for_countdown(left, (__s64)words) {
    const __u8* word = from + bounded(2 * (words - left), 0x1ff);
    if (word + 2 > data_end) return sum;
    sum += *(const __u16*)word;
  }
  const __u8* last = from + bounded(2 * words, 0x1ff);
  return bytes % 2 && last + 1 <= data_end ? sum + bpf_htons(*last << 8) : sum;
}

/* How many bytes from the UDP header on the answer has, with its DNS message written; 0: the query is none that is
 * answered. Not static for the reason of parse_packet. */
__noinline __u32 write_dns(struct xdp_md* ctx, __u32 udp_at) {
  const __u32 dns_at = bounded(udp_at, 0x3f) + sizeof(struct udphdr);
  const __u32 name = dns_name_bytes(ctx, dns_at + sizeof(struct dns_header), DNS_LABELS_MAX);
  if (!name) return 0;
  __u8* data = (void*)(long)ctx->data;
  const __u8* data_end = (const __u8*)(long)ctx->data_end;
  struct dns_header* dns = (void*)(data + dns_at);
  if ((const __u8*)(dns + 1) > data_end) return 0;
  if (dns->flags & (DNS_RESPONSE | DNS_OPCODE) || dns->questions != bpf_htons(1)) return 0;
  if (dns->answers || dns->authorities) return 0;
  __u32 bytes = sizeof(struct udphdr) + sizeof(*dns) + bounded(name, 0xff) + 2 * sizeof(__be16);
  struct dns_opt* opt = (void*)(data + bounded(udp_at, 0x3f) + bytes);
  if ((const __u8*)opt > data_end) return 0;
  const int has_opt = dns->additional == bpf_htons(1) && (const __u8*)(opt + 1) <= data_end && opt->root == 0 &&
                      opt->type == bpf_htons(DNS_TYPE_OPT);
  if (has_opt) {
    opt->extended_code = 0;
    opt->version = 0;
    opt->length = 0;
    bytes += sizeof(*opt);
  } else {
    dns->additional = 0;
  }
  dns->flags = DNS_RESPONSE | DNS_TRUNCATED | (dns->flags & DNS_RECURSION_DESIRED);
  dns->more_flags &= DNS_CHECKING_DISABLED;
  return bytes;
}

/* As answer_tcp(). A query with IP options or extension headers gets none. */
__noinline int answer_dns(struct xdp_md* ctx, struct packet* packet) {
  if (!packet) return XDP_DROP;
  const int of_ipv4 = is_ipv4(&packet->destination);
  const __u32 network_at = bounded(packet->network_at, 0x3f);
  const __u32 udp_at = network_at + (of_ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
  const __u32 bytes = bounded(write_dns(ctx, udp_at), 0x1ff);
  if (!bytes || udp_at + bytes > network_at + packet->length) return XDP_DROP;
  __u8* data = (void*)(long)ctx->data;
  const __u8* data_end = (void*)(long)ctx->data_end;
  __u8* network = data + network_at;
  struct udphdr* udp = (void*)(data + udp_at);
  if (network_at < sizeof(struct ethhdr) || data + sizeof(struct ethhdr) > data_end) return XDP_DROP;
  if ((const __u8*)(udp + 1) > data_end || network + sizeof(struct iphdr) > data_end) return XDP_DROP;
  __u64 sum;
  if (of_ipv4) {
    if (*network != 0x45) return XDP_DROP;
    sum = (__u64)packet->source.words[3] + packet->destination.words[3];
    write_ipv4((void*)network, packet, IPPROTO_UDP, bytes);
  } else {
    if (network + sizeof(struct ipv6hdr) > data_end) return XDP_DROP;
    if (((struct ipv6hdr*)network)->nexthdr != IPPROTO_UDP) return XDP_DROP;
    sum = sum_of(&packet->source) + sum_of(&packet->destination);
    write_ipv6((void*)network, packet, IPPROTO_UDP, bytes);
  }
  write_ethernet((void*)data);
  udp->source = bpf_htons(packet->traits.destination_port);
  udp->dest = bpf_htons(packet->traits.source_port);
  udp->len = bpf_htons(bytes);
  udp->check = 0;
  const __u16 check = folded(sum + bpf_htonl(IPPROTO_UDP << 16 | bytes) + add_bytes(ctx, udp_at, bytes, 0));
  udp->check = check ? check : 0xffff;
  const __s64 surplus = (data_end - data) - (__s64)(udp_at + bytes);
  return surplus > 0 && bpf_xdp_adjust_tail(ctx, -surplus) ? XDP_DROP : XDP_TX;
}
