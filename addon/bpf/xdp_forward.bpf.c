// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The way on of a packet that the filter passed, in place of the kernel's routing: a look-up in the kernel's own
// tables, then out by the interface that they name, in a tunnel where one is configured. What it does not do exactly as
// the kernel would it leaves to the kernel. The filter's programs call it by a tail call, so that they cost nothing
// more where it is not in use.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "forward_packet.h"
#include "forward_routes.h"
#include "forward_tables.h"
#include "forward_tunnel.h"

const volatile struct forward_settings settings;

// Why the kernel's look-up says no; FORWARD_GOES_ON: it says yes.
static __always_inline __u32 outcome_of_lookup(long result) {
  switch (result) {
    case BPF_FIB_LKUP_RET_SUCCESS:
      return FORWARD_GOES_ON;
    case BPF_FIB_LKUP_RET_BLACKHOLE:
    case BPF_FIB_LKUP_RET_UNREACHABLE:
    case BPF_FIB_LKUP_RET_PROHIBIT:
      return FORWARD_KERNEL_UNREACHABLE;
    case BPF_FIB_LKUP_RET_NOT_FWDED:
      return FORWARD_KERNEL_LOCAL;
    case BPF_FIB_LKUP_RET_FWD_DISABLED:
      return FORWARD_KERNEL_OFF;
    case BPF_FIB_LKUP_RET_NO_NEIGH:
      return FORWARD_KERNEL_NEIGHBOR;
    case BPF_FIB_LKUP_RET_FRAG_NEEDED:
      return FORWARD_KERNEL_MTU;
    default:
      return FORWARD_KERNEL_LOOKUP;
  }
}

// The route of what leaves: of the packet, or of the outer one where it gets a tunnel.
static __always_inline __u32 look_up(struct xdp_md* ctx, const struct forwarding* packet,
                                     const struct forward_tunnel* tunnel, struct bpf_fib_lookup* route) {
  const int is_ipv4 = tunnel ? tunnel->is_ipv4 : packet->is_ipv4;
  const struct ip_address* source = tunnel ? &tunnel->local : &packet->source;
  const struct ip_address* destination = tunnel ? &tunnel->remote : &packet->destination;
  route->ifindex = ctx->ingress_ifindex;
  route->tot_len = packet->length + (tunnel ? tunnel->headers : 0);
  route->l4_protocol = packet->protocol;
  if (!tunnel) {
    route->sport = packet->source_port;
    route->dport = packet->destination_port;
  }
  if (is_ipv4) {
    route->family = AF_INET;
    route->tos = packet->traffic_class;
    route->ipv4_src = source->words[3];
    route->ipv4_dst = destination->words[3];
  } else {
    route->family = AF_INET6;
    route->flowinfo = bpf_htonl((__u32)packet->traffic_class << 20);
    __builtin_memcpy(route->ipv6_src, source, sizeof(*source));
    __builtin_memcpy(route->ipv6_dst, destination, sizeof(*destination));
  }
  const __u32 outcome = outcome_of_lookup(bpf_fib_lookup(ctx, route, sizeof(*route), 0));
  // Linux before 6.3 does not look whether a neighbor that it knows has an address yet.
  const __u8* mac = route->dmac;
  if (outcome == FORWARD_GOES_ON && !(mac[0] | mac[1] | mac[2] | mac[3] | mac[4] | mac[5])) {
    return FORWARD_KERNEL_NEIGHBOR;
  }
  return outcome;
}

/* As an Ethernet header begins with them, by words: it is no multiple of them, so that the compiler would go by bytes.
 */
static __always_inline void macs_of(const struct bpf_fib_lookup* route, __u32 macs[3]) {
  __builtin_memcpy(macs, route->dmac, ETH_ALEN);
  __builtin_memcpy((__u8*)macs + ETH_ALEN, route->smac, ETH_ALEN);
}

static __always_inline int write_macs(struct xdp_md* ctx, const __u32 macs[3]) {
  __u32* ethernet = (void*)(long)ctx->data;
  if ((const void*)(ethernet + 3) > (const void*)(long)ctx->data_end) return XDP_DROP;
  for (int i = 0; i < 3; i++) ethernet[i] = macs[i];
  return XDP_REDIRECT;
}

// One token bucket for all CPUs. If another CPU takes an answer at the same moment, this one goes without.
static __always_inline int may_answer(void) {
  struct forward_head* head = forward_head_of();
  if (!head) return 0;
  if (settings.answer_cost_ns == 0) return 1;
  const __u64 now = bpf_ktime_get_ns();
  const __u64 paid = *(volatile __u64*)&head->answers_paid_until_ns;
  const __u64 start = paid > now ? paid : now;
  if (start - now > FORWARD_ANSWER_BURST * settings.answer_cost_ns) return 0;
  return __sync_val_compare_and_swap(&head->answers_paid_until_ns, paid, start + settings.answer_cost_ns) == paid;
}

static __always_inline __u32 refuse_size(struct xdp_md* ctx, struct forwarding* packet, __u32 mtu) {
  if (packet->is_ipv4 && packet->may_fragment) return FORWARD_DROP_TOO_BIG;
  if (packet->is_unanswerable || ctx->data_end - ctx->data < ANSWERED_FRAME_MIN) return FORWARD_DROP_TOO_BIG;
  return may_answer() ? answer_too_big(ctx, packet, mtu) : FORWARD_DROP_ANSWER_LIMIT;
}

static __always_inline void clamp(struct xdp_md* ctx, const struct forwarding* packet,
                                  const struct forward_tunnel* tunnel, struct forward_stats* stats) {
  const __u32 at = sizeof(struct ethhdr) + (packet->is_ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
  stats->clamped += clamp_mss(ctx, at, packet->is_ipv4 ? tunnel->mss4 : tunnel->mss6);
}

static __always_inline __u32 enter_tunnel(struct xdp_md* ctx, struct forwarding* packet,
                                          struct forward_tunnel* tunnel) {
  if (packet->length > tunnel->mtu) return refuse_size(ctx, packet, tunnel->mtu);
  struct bpf_fib_lookup route = {};
  const __u32 found = look_up(ctx, packet, tunnel, &route);
  // The way to the far end is narrower than configured.
  if (found == FORWARD_KERNEL_MTU) return refuse_size(ctx, packet, route.mtu_result - tunnel->headers);
  pass_hop(ctx, packet);
  const __u32 outcome = encapsulate(ctx, packet, tunnel);
  if (outcome != FORWARD_TUNNELED) return outcome;
  if (found != FORWARD_GOES_ON || bpf_redirect_map(&forward_egress, route.ifindex, XDP_PASS) != XDP_REDIRECT) {
    return FORWARD_TUNNELED_KERNEL;
  }
  __u32 macs[3];
  macs_of(&route, macs);
  return write_macs(ctx, macs) == XDP_REDIRECT ? FORWARD_TUNNELED : FORWARD_DROP_NO_ROOM;
}

// As coarse_boot_ns() of the filter, of the monotonic clock.
static __always_inline __u64 coarse_ns(struct forward_stats* stats) {
  const __u64 jiffies = bpf_jiffies64();
  if (stats->jiffies != jiffies) {
    stats->jiffies = jiffies;
    stats->now_ns = bpf_ktime_get_ns();
  }
  return stats->now_ns;
}

// Whether it is time to show the kernel a packet.
static __always_inline int is_refresh(struct forward_stats* stats, __u64 now_ns) {
  if (settings.refresh_ns == 0) return 0;
  if (now_ns - stats->refreshed_ns < settings.refresh_ns) return 0;
  stats->refreshed_ns = now_ns;
  return 1;
}

static __always_inline __u32 send_by(struct xdp_md* ctx, const struct forwarding* packet, __u32 egress,
                                     const __u32 macs[3]) {
  if (bpf_redirect_map(&forward_egress, egress, XDP_PASS) != XDP_REDIRECT) return FORWARD_KERNEL_EGRESS;
  pass_hop(ctx, packet);
  return write_macs(ctx, macs) == XDP_REDIRECT ? FORWARD_REDIRECTED : FORWARD_KERNEL_HEADER;
}

// `kept`: where to keep the route, 0: nowhere.
static __always_inline __u32 route_on(struct xdp_md* ctx, const struct forwarding* packet, struct forward_stats* stats,
                                      struct forward_route_set* kept, __u32 generation, __u64 now_ns) {
  struct bpf_fib_lookup route = {};
  const __u32 outcome = look_up(ctx, packet, 0, &route);
  if (outcome != FORWARD_GOES_ON) return outcome;
  if (is_refresh(stats, now_ns)) return FORWARD_KERNEL_REFRESH;
  __u32 macs[3];
  macs_of(&route, macs);
  const __u32 sent = send_by(ctx, packet, route.ifindex, macs);
  if (kept && sent == FORWARD_REDIRECTED) {
    struct forward_route* keeps = keep_route(kept, packet, &route, macs);
    keeps->ingress = ctx->ingress_ifindex;
    keeps->generation = generation;
    keeps->kept_until_ns = now_ns + settings.keep_ns;
  }
  return sent;
}

// Frames that a switch floods or a bridge passes on, or of a promiscuous interface, are not for this machine to route.
static __always_inline int is_for_us(struct xdp_md* ctx, const struct forwarding* packet) {
  __u32 index = ctx->ingress_ifindex;
  const struct forward_port* port = bpf_map_lookup_elem(&forward_ports, &index);
  return port && is_same_mac(packet->ethernet.h_dest, port->mac);
}

static __always_inline __u32 forward(struct xdp_md* ctx, struct forward_stats* stats) {
  if (settings.has_fragments && bpf_xdp_get_buff_len(ctx) != ctx->data_end - ctx->data) return FORWARD_KERNEL_PIECES;
  struct forwarding packet = {};
  const __u32 outcome = read_frame(ctx, &packet);
  if (outcome != FORWARD_GOES_ON) return outcome;
  const struct forward_head* head = forward_head_of();
  if (!head) return FORWARD_KERNEL_LOOKUP;
  // Before the look-up: what it finds is void if the owner says so meanwhile.
  const __u32 generation = *(volatile const __u32*)&head->generation;
  const __u64 now_ns = coarse_ns(stats);
  struct forward_route_set* kept = 0;
  // The MSS of a SYN may have to be lowered.
  if (now_ns < head->keeping_until_ns && settings.keep_ns != 0 && !packet.is_syn) kept = routes_for(&packet);
  if (kept) {
    const struct forward_route* route = kept_route(kept, &packet, ctx->ingress_ifindex, generation, now_ns);
    if (route) return send_by(ctx, &packet, route->egress, route->macs);
  }
  if (!is_for_us(ctx, &packet)) return FORWARD_KERNEL_OTHER_MAC;
  if (!head->has_prefixes) return route_on(ctx, &packet, stats, kept, generation, now_ns);
  // A SYN from a tunnel's far end offers an MSS for segments that go into the tunnel.
  if (packet.is_syn) {
    const struct forward_tunnel* behind = tunnel_of(find_prefix(&packet.source, packet.is_ipv4));
    if (behind) clamp(ctx, &packet, behind, stats);
  }
  const __u32* prefix = find_prefix(&packet.destination, packet.is_ipv4);
  if (!prefix) return FORWARD_KERNEL_FOREIGN;
  struct forward_tunnel* tunnel = (void*)tunnel_of(prefix);
  if (!tunnel && *prefix != FORWARD_NO_TUNNEL) return FORWARD_KERNEL_LOOKUP;
  if (!tunnel) return route_on(ctx, &packet, stats, kept, generation, now_ns);
  if (packet.is_syn) clamp(ctx, &packet, tunnel, stats);
  return enter_tunnel(ctx, &packet, tunnel);
}

static __always_inline int action_of(__u32 outcome) {
  switch (outcome) {
    case FORWARD_REDIRECTED:
    case FORWARD_TUNNELED:
      return XDP_REDIRECT;
    case FORWARD_ANSWER_TOO_BIG:
      return XDP_TX;
    case FORWARD_DROP_TOO_BIG:
    case FORWARD_DROP_ANSWER_LIMIT:
    case FORWARD_DROP_NO_ROOM:
      return XDP_DROP;
    default:
      return XDP_PASS;
  }
}

SEC("xdp")
int xdp_forward(struct xdp_md* ctx) {
  __u32 slot = 0;
  struct forward_stats* stats = bpf_map_lookup_elem(&forward_stats, &slot);
  if (!stats) return XDP_PASS;
  const __u32 wire = settings.has_fragments ? bpf_xdp_get_buff_len(ctx) : ctx->data_end - ctx->data;
  __u32 outcome = forward(ctx, stats);
  // The verifier requires the bounds check on the register that is used as the index.
  asm volatile("" : "+r"(outcome));
  if (outcome >= FORWARD_OUTCOMES) return XDP_PASS;
  stats->outcomes[outcome].packets++;
  stats->outcomes[outcome].bytes += wire;
  return action_of(outcome);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
