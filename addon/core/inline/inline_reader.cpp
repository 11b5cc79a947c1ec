#include "inline/inline_reader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>

#include "base/source_error.h"

namespace floodwall {
namespace {

/// How often a flow that sends on is looked up again, so that it is not forgotten.
constexpr std::uint64_t kFlowEpochMs = 1000;

/// The number to be added to `seen` to make it `wanted`, modulo 2^64: negative for packets that were counted in both
/// directions, which the shard has seen twice.
ShardStats missing(const ShardStats& wanted, const ShardStats& seen) {
  ShardStats delta;
  delta.receivedPackets = wanted.receivedPackets - seen.receivedPackets;
  delta.receivedBytes = wanted.receivedBytes - seen.receivedBytes;
  delta.countedPackets = wanted.countedPackets - seen.countedPackets;
  delta.untrackedPackets = wanted.untrackedPackets - seen.untrackedPackets;
  delta.foreignPackets = wanted.foreignPackets - seen.foreignPackets;
  for (std::size_t i = 0; i < kParseErrors; i++) delta.parseErrors[i] = wanted.parseErrors[i] - seen.parseErrors[i];
  for (std::size_t i = 0; i < kEncapsulations; i++)
    delta.encapsulated[i] = wanted.encapsulated[i] - seen.encapsulated[i];
  return delta;
}

}  // namespace

int InlineReader::takeSample(void* sink, void* data, std::size_t) {
  const auto* sample = static_cast<const inline_sample*>(data);
  if (sample->captured == 0) return 0;
  const auto& [shard, every] = *static_cast<const SampleSink*>(sink);
  shard.addSample({sample->data, sample->captured, sample->wire}, sample->is_raw_ip != 0 ? Link::rawIp : Link::ethernet,
                  sample->verdict, every);
  return 0;
}

void InlineReader::CloseRing::operator()(ring_buffer* ring) const { ring_buffer__free(ring); }

InlineReader::InlineReader(InlineProgram& program, Shard& shard, std::uint32_t idleMs)
    : program_(program),
      shard_(shard),
      before_(shard.stats()),
      sink_{shard, program.sampleEvery()},
      samples_(ring_buffer__new(program.samplesFd(), takeSample, &sink_, nullptr)) {
  if (!samples_) throw SourceError(std::string("cannot read the samples of the XDP counter: ") + strerror(errno));
  for (std::uint32_t lane = 0; lane < program.table().lanes(); lane++) {
    hosts_.emplace_back(program.table(), lane, program.directionOf(lane), program.maxHosts(), idleMs);
  }
}

InlineReader::~InlineReader() = default;

/// Counts of networks since the last reading are handed over under their old numbers, or dropped with them.
void InlineReader::setNetworks(const InlinePrefixes& networks) {
  if (!networks_.empty()) settleStats();
  program_.setNetworks(networks.prefixes, networks.networkCount);
  networks_.assign(std::size_t{networks.networkCount} * hosts_.size(), {});
  replaced_ = &networks.table;
}

void InlineReader::read(std::uint64_t nowMs) {
  program_.setFlowEpoch(static_cast<std::uint32_t>(nowMs / kFlowEpochMs));
  program_.table().makeRoom();
  for (InlineHosts& hosts : hosts_) hosts.read(shard_, {nowMs, replaced_, isShortOfRows_});
  replaced_ = nullptr;
  settleStats();
  ring_buffer__consume(samples_.get());
}

/// The kernel gives each packet one outcome. The stats that the shard derived from the counts are corrected to these.
void InlineReader::settleStats() {
  const inline_stats kernel = program_.stats();
  isShortOfRows_ = kernel.network_packets != networkPackets_;
  if (isShortOfRows_) {
    networkPackets_ = kernel.network_packets;
    readNetworks();
  }
  ShardStats wanted = before_;
  wanted.receivedPackets += kernel.received_packets;
  wanted.receivedBytes += kernel.received_bytes;
  wanted.countedPackets += kernel.counted_packets;
  wanted.untrackedPackets += kernel.untracked_packets;
  wanted.foreignPackets += kernel.foreign_packets;
  for (std::size_t i = 0; i < kParseErrors; i++) wanted.parseErrors[i] += kernel.errors[i];
  for (std::size_t i = 0; i < kEncapsulations; i++) {
    wanted.encapsulated[i] += kernel.encapsulated[i] * INLINE_NOTED_EVERY;
  }
  shard_.addOutcomes(missing(wanted, shard_.stats()));
}

void InlineReader::readNetworks() {
  if (networks_.empty()) return;
  const std::size_t lanes = hosts_.size();
  keys_.resize(networks_.size() / lanes);
  values_.resize(networks_.size());
  auto count = static_cast<std::uint32_t>(keys_.size());
  std::uint32_t next = 0;
  // All fit: the map has exactly this number of entries.
  const int error =
      bpf_map_lookup_batch(program_.networksFd(), nullptr, &next, keys_.data(), values_.data(), &count, nullptr);
  if (error < 0 && error != -ENOENT) return;
  for (std::size_t i = 0; i < count * lanes; i++) {
    const std::uint32_t network = keys_[i / lanes];
    const auto lane = static_cast<std::uint32_t>(i % lanes);
    Counters& last = networks_[network * lanes + lane];
    const Counters now = countersOf(values_[i]);
    if (isSame(now, last)) continue;
    shard_.addNetworkCounts(network, program_.directionOf(lane), difference(now, last));
    last = now;
  }
}

}  // namespace floodwall
