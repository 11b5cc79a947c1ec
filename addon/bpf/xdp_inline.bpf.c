// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Counts packets of the configured networks where they pass, and passes them on unchanged. The reader takes the counts
// and samples of headers twice in each tick. If the interface also filters, packet_filter.h decides about a packet
// after it was counted, so that detection still sees an attack whose packets are dropped, and before it is sampled, so
// that the sample says what became of it.
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "flow_sets.h"
#include "forward_call.h"
#include "inline_abi.h"
#include "lane_table.h"
#include "packet_filter.h"
#include "parse_packet.h"
#include "take_apart.h"
#include "verifier_bounds.h"

_Static_assert(INLINE_SAMPLED_OUTCOMES == FILTER_OUTCOMES, "samples are counted by outcome");

const volatile struct inline_settings settings = {.cpus = 1, .near_buckets = 1, .chunks = 1, .flow_sets = 1};

#include "take_sample.h"

static __always_inline int is_vxlan_port(__u16 port) {
  _Static_assert(VXLAN_PORTS_MAX == 4, "all are compared");
  const volatile __u16* ports = settings.vxlan_ports;
  return port != 0 && (port == ports[0] || port == ports[1] || port == ports[2] || port == ports[3]);
}

// The reader writes these two while the program runs.
struct inline_filter network_filter;
__u32 flow_epoch;

// The networks are replaced as a whole: the reader fills new inner maps and puts them into the one slot of these.
// Inner maps are given by sizes, since the compiler describes types that only they use by name alone.
//
// The kernel's LPM trie is fast enough here: it is looked up only for an address that has no row and that
// network_filter lets through, which few packets of a flood are.
struct network_trie4 {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(struct inline_prefix4));
  __uint(value_size, sizeof(__u32));
};
struct network_trie6 {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(struct inline_prefix6));
  __uint(value_size, sizeof(__u32));
};
// By network, counts for each lane: the reader sets the size. A hash of the kernel, since networks are few and only
// packets of hosts without a row are counted here.
struct network_counts {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(struct inline_counts));
};
#define SLOT_OF(inner)                        \
  struct {                                    \
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); \
    __uint(max_entries, 1);                   \
    __type(key, __u32);                       \
    __array(values, struct inner);            \
  }
SLOT_OF(network_trie4) networks4 SEC(".maps");
SLOT_OF(network_trie6) networks6 SEC(".maps");
SLOT_OF(network_counts) network_rows SEC(".maps");

// The flows that each CPU saw recently, in sets of a quarter of a cache line. An LRU hash of the kernel forgets old
// flows as well, but takes a lock and a list's node for each new one, and in many floods every packet is a new flow.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct inline_flow_set);
} flow_sets SEC(".maps");

// The outcomes of the frames of each CPU.
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct inline_stats);
} stats SEC(".maps");

static __always_inline int may_be_in_network(const struct ip_address* address) {
  if (is_ipv4(address)) {
    __u64 bits = bounded(bpf_ntohl(address->words[3]) >> 16, 0xffff);
    return network_filter.ipv4[bits >> 6] >> (bits & 63) & 1;
  }
  __u64 bits = bounded(bpf_ntohl(address->words[0]) >> 16, 0xffff);
  return network_filter.ipv6[bits >> 6] >> (bits & 63) & 1;
}

static __always_inline const __u32* find_network(const struct ip_address* address) {
  __u32 slot = 0;
  if (is_ipv4(address)) {
    void* trie = bpf_map_lookup_elem(&networks4, &slot);
    struct inline_prefix4 key = {.length = 32, .address = address->words[3]};
    return trie ? bpf_map_lookup_elem(trie, &key) : 0;
  }
  void* trie = bpf_map_lookup_elem(&networks6, &slot);
  struct inline_prefix6 key = {.length = 128, .address = *address};
  return trie ? bpf_map_lookup_elem(trie, &key) : 0;
}

// Where the packets of an address are counted.
struct place {
  // This CPU's counts of the host, or of its network. 0 when it is foreign, and for a network that was just replaced.
  struct inline_counts* counts;
  __u8 is_host;
  __u8 is_foreign;
};

static __always_inline struct place in_host(struct inline_row* row) {
  return (struct place){.counts = &row->counts, .is_host = 1};
}

static __always_inline struct place in_network(__u32 network, __u32 lane) {
  __u32 slot = 0;
  void* rows = bpf_map_lookup_elem(&network_rows, &slot);
  struct inline_counts* counts = rows ? bpf_map_lookup_elem(rows, &network) : 0;
  return (struct place){.counts = counts ? counts + lane : 0};
}

static __always_inline struct place locate(const struct ip_address* address, __u32 lane) {
  const struct place foreign = {.is_foreign = 1};
  if (!may_be_in_network(address)) return foreign;
  const __u32 near = settings.near_buckets, far = settings.far_buckets;
  __u64 hash = inline_host_hash(address, settings.host_seed);
  struct host_key key = {.address = address,
                         .tag = (__u32)(hash >> 32) & INLINE_TAG_MASK,
                         .lane = lane,
                         .way = bounded(hash >> 48, INLINE_BUCKET_WAYS - 1)};
  struct inline_bucket* near_bucket = bucket_at(inline_near_bucket(lane, near, far, hash));
  struct inline_row* row = find_row(near_bucket, &key, settings.chunks);
  if (row) return in_host(row);
  struct inline_bucket* far_bucket = far ? bucket_at(inline_far_bucket(lane, near, far, hash)) : 0;
  row = find_row(far_bucket, &key, settings.chunks);
  if (row) return in_host(row);
  const __u32* network = find_network(address);
  if (!network) return foreign;
  row = add_row(near_bucket, far_bucket, &key, settings.chunks);
  return row ? in_host(row) : in_network(*network, lane);
}

// `counts` is a row that the packet goes to.
static __always_inline int is_new_flow(const struct packet* packet, struct inline_counts* counts, __u32 cpu) {
  // A later fragment belongs to the flow of the first, which its own headers do not name.
  if (packet->is_later_fragment) return 0;
  __u64 hash = flow_hash(packet, &settings);
  __u32 flow = (__u32)hash ^ flow_epoch;
  if (counts->last_flow == flow) return 0;
  counts->last_flow = flow;
  __u32 sets = settings.flow_sets;
  __u32 index = cpu * sets + ((__u32)hash & (sets - 1));
  struct inline_flow_set* set = bpf_map_lookup_elem(&flow_sets, &index);
  return set ? flow_is_new(set, hash) : 0;
}

// Whether the packet is counted to a network. Not static for the reason of parse_packet.
__noinline int is_ours(struct packet* packet) {
  if (!packet) return 0;
  if (may_be_in_network(&packet->destination) && find_network(&packet->destination)) return 1;
  return settings.counts_outgoing && may_be_in_network(&packet->source) && find_network(&packet->source);
}

// The reading of a frame's packet: bytes of the frame that are not the packet's own; the result of parse_packet; and
// whether it was in a tunnel: then `around` has the outermost packet.
#define TAKEN_BYTES 0xffffu
#define TAKEN_ERROR_SHIFT 16
#define TAKEN_ERROR 0xfu
#define TAKEN_IN_TUNNEL 0x80000000u

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct packet);
} around SEC(".maps");

// Puts the innermost packet that is counted to a network in place of `packet`, the outermost, or leaves that. As
// Shard::chooseLayer() and takeApart() together. Not static for the reason of parse_packet.
__noinline __u32 take_apart(struct xdp_md* ctx, struct packet* packet) {
  if (!packet) return 0;
  struct walk walk = {.end = ctx->data_end - ctx->data, .payload = PAYLOAD_ETHERNET, .kinds = settings.decapsulated};
  __u32 taken = 0;
  // Unrolled: Linux 6.1 does not take the loop as the compiler lays it out, with its head behind its body.
#pragma unroll
  for (int tunnels = 0; tunnels <= TUNNELS_MAX; tunnels++) {
    const __u32 begin = walk.offset, without_ethernet = walk.payload == PAYLOAD_ETHERNET ? 0 : sizeof(struct ethhdr);
    struct packet inner = {};
    const __u32 error = next_packet(ctx, &inner, &walk);
    if (tunnels == 0 && error != INLINE_NO_ERROR) return error << TAKEN_ERROR_SHIFT;
    if (error != INLINE_NO_ERROR || walk.offset > NETWORK_AT_MAX) break;
    if (tunnels == 0 || is_ours(&inner)) {
      if (tunnels > 0 || walk.has_labels) inner.traits.shows |= FILTER_SHOWS_INNER;
      *packet = inner;
      taken = tunnels == 0 ? 0 : TAKEN_IN_TUNNEL | ((begin - without_ethernet) & TAKEN_BYTES);
    }
    if (!open_tunnel(ctx, &inner, &walk)) break;
  }
  return INLINE_NO_ERROR << TAKEN_ERROR_SHIFT | taken;
}

// parse_packet() where tunnels are taken apart. Not static for the reason of parse_packet.
__noinline __u32 parse_inner(struct xdp_md* ctx, struct packet* packet) {
  if (!packet) return INLINE_NOT_IP << TAKEN_ERROR_SHIFT;
  const __u32 error = parse_packet(ctx, packet);
  if (!may_carry(packet, error)) return error << TAKEN_ERROR_SHIFT;
  __u32 slot = 0;
  struct packet* outermost = bpf_map_lookup_elem(&around, &slot);
  // An answer to a packet that carries others is none to who sent those.
  if (outermost) {
    *outermost = *packet;
    outermost->traits.shows |= FILTER_SHOWS_INNER;
  }
  return take_apart(ctx, packet);
}

// The encapsulation that was not taken apart. ERSPAN is taken for GRE, as which it comes.
static __always_inline __u32 carried_by(struct xdp_md* ctx, const struct packet* packet, __u32 error) {
  if (error == INLINE_NOT_IP) {
    const __u8* type = (const __u8*)(long)ctx->data + bounded(packet->network_at - 2, 0xff);
    if (type + 2 > (const __u8*)(long)ctx->data_end) return ENCAPSULATION_NONE;
    const __u32 number = word_at(type);
    if (number == TYPE_MPLS || number == TYPE_MPLS_MULTICAST) return ENCAPSULATION_MPLS;
    return number == TYPE_PPPOE_SESSION ? ENCAPSULATION_PPPOE : ENCAPSULATION_NONE;
  }
  if (error != INLINE_NO_ERROR) return ENCAPSULATION_NONE;
  switch (packet->traits.protocol) {
    case PROTOCOL_IPV4:
      return ENCAPSULATION_IPIP;
    case PROTOCOL_IPV6:
      return ENCAPSULATION_6IN4;
    case PROTOCOL_GRE:
      return ENCAPSULATION_GRE;
    case PROTOCOL_MPLS:
      return ENCAPSULATION_MPLS;
    case IPPROTO_UDP:
      break;
    default:
      return ENCAPSULATION_NONE;
  }
  if (is_vxlan_port(packet->traits.destination_port)) return ENCAPSULATION_VXLAN;
  switch (packet->traits.destination_port) {
    case PORT_GENEVE:
      return ENCAPSULATION_GENEVE;
    case PORT_GTP_U:
      return ENCAPSULATION_GTP_U;
    default:
      return ENCAPSULATION_NONE;
  }
}

// For one frame in INLINE_NOTED_EVERY. Not static for the reason of parse_packet.
__noinline int note_encapsulation(struct xdp_md* ctx, struct packet* packet, __u32 error) {
  __u32 slot = 0;
  struct inline_stats* own = bpf_map_lookup_elem(&stats, &slot);
  if (!packet || !own) return 0;
  const __u32 either = 1u << ENCAPSULATION_GRE | 1u << ENCAPSULATION_ERSPAN;
  const __u32 kinds = settings.decapsulated & either ? settings.decapsulated | either : settings.decapsulated;
  const __u32 kind = carried_by(ctx, packet, error);
  if (kind < ENCAPSULATIONS && !(kinds >> kind & 1)) own->encapsulated[kind]++;
  return 0;
}

static __always_inline void add(struct inline_counts* counts, __u32 to, __u32 wire) {
  counts->classes[to].packets++;
  counts->classes[to].bytes += wire;
}

static __always_inline void count(struct inline_counts* counts, const struct packet* packet, __u32 wire, int is_new) {
  add(counts, packet->transport & 3, wire);
  if (is_syn(packet)) add(counts, INLINE_TCP_SYN, wire);
  if (packet->traits.shows & FILTER_SHOWS_FRAGMENT) add(counts, INLINE_FRAGMENT, wire);
  counts->new_flows += is_new;
}

static __always_inline void count_packet(const struct packet* packet, __u32 wire, __u32 cpu, struct place to,
                                         struct place from) {
  struct inline_counts* first = to.counts ? to.counts : from.counts;
  if (!first) return;
  int is_new = is_new_flow(packet, first, cpu);
  if (to.counts) count(to.counts, packet, wire, is_new);
  if (from.counts) count(from.counts, packet, wire, is_new);
}

// A function of its own, so that what it keeps on the stack is gone when the filter runs: nested calls have 512 bytes
// together. Static, so that the verifier knows the bound of `cpu`. Returns this CPU's stats if the packet may be
// sampled, else 0. `taken`: see TAKEN_BYTES.
static __noinline struct inline_stats* count_frame(struct xdp_md* ctx, __u32 cpu, struct packet* packet, __u32 wire,
                                                   __u32 taken) {
  __u32 error = taken >> TAKEN_ERROR_SHIFT & TAKEN_ERROR;
  // The verifier requires the bounds check on the register that is used as the index.
  asm volatile("" : "+r"(error));
  __u32 slot = 0;
  struct inline_stats* own = bpf_map_lookup_elem(&stats, &slot);
  if (!own) return 0;
  own->received_packets++;
  own->received_bytes += wire;
  if (own->received_packets % INLINE_NOTED_EVERY == 0) note_encapsulation(ctx, packet, error);
  if (error < INLINE_ERRORS) {
    own->errors[error]++;
    return 0;
  }
  const __u32 lane = settings.counts_outgoing ? 2 * cpu : cpu;
  struct place to = locate(&packet->destination, lane);
  struct place from = {.is_foreign = 1};
  // Traffic to one of ours is not outgoing: anyone can send it in the name of another of ours.
  if (settings.counts_outgoing && to.is_foreign) from = locate(&packet->source, lane + 1);
  if (to.is_foreign && from.is_foreign) {
    own->foreign_packets++;
    return 0;
  }
  if (to.is_host || from.is_host) {
    own->counted_packets++;
  } else {
    own->untracked_packets++;
  }
  if (!to.is_host && to.counts) own->network_packets++;
  if (!from.is_host && from.counts) own->network_packets++;
  count_packet(packet, settings.decapsulated ? wire - (taken & TAKEN_BYTES) : wire, cpu, to, from);
  return own;
}

// Not static for the reason of parse_packet.
__noinline __u32 judge_counted(struct xdp_md* ctx, struct packet* packet, __u32 error, __u32 wire, __u32 is_around) {
  return packet ? judge_and_count(ctx, packet, error, wire, is_around) : FILTER_VERDICTS;
}

// The outermost packet is judged first, and the one inside if nothing decides about that: otherwise a tunnel would be a
// way around the rules for where it goes. Inlined, since the calls below it leave no room on the stack for one more:
// Linux before 6.6 adds 32 bytes for each, up to 512.
static __always_inline __u32 judge_both(struct xdp_md* ctx, struct packet* packet, __u32 taken, __u32 wire) {
  __u32 slot = 0;
  struct packet* outermost = taken & TAKEN_IN_TUNNEL ? bpf_map_lookup_elem(&around, &slot) : 0;
  if (outermost) {
    const __u32 verdict = judge_counted(ctx, outermost, INLINE_NO_ERROR, wire, 1);
    if (verdict < FILTER_VERDICTS) return verdict;
  }
  return judge_counted(ctx, packet, taken >> TAKEN_ERROR_SHIFT & TAKEN_ERROR, wire, 0);
}

SEC("xdp")
int xdp_inline(struct xdp_md* ctx) {
  __u32 cpu = bpf_get_smp_processor_id();
  __u32 wire = settings.has_fragments ? bpf_xdp_get_buff_len(ctx) : ctx->data_end - ctx->data;
  struct packet packet = {};
  const __u32 taken =
      settings.decapsulated ? parse_inner(ctx, &packet) : parse_packet(ctx, &packet) << TAKEN_ERROR_SHIFT;
  struct inline_stats* sampled = cpu < settings.cpus ? count_frame(ctx, cpu, &packet, wire, taken) : 0;
  __u32 verdict = FILTER_VERDICTS;
  if (settings.filters) {
    verdict = settings.decapsulated ? judge_both(ctx, &packet, taken, wire)
                                    : judge_counted(ctx, &packet, taken >> TAKEN_ERROR_SHIFT, wire, 0);
  }
  if (sampled) sample(ctx, sampled, &packet, wire, settings.decapsulated ? taken & TAKEN_BYTES : 0, verdict);
  return pass_on(ctx, carry_out(ctx, &packet, verdict), settings.forwards);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
