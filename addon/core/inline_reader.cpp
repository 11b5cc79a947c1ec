#include "inline_reader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "capture_source.h"

namespace floodwall {
namespace {

/// Flows age in steps of this, whatever the rate of readings.
constexpr std::uint64_t kFlowEpochMs = 100;

int takeSample(void* shard, void* data, std::size_t) {
  const auto* sample = static_cast<const inline_sample*>(data);
  if (sample->captured == 0) return 0;
  static_cast<Shard*>(shard)->addSample({sample->data, sample->captured, sample->wire}, Link::ethernet);
  return 0;
}

/// What must be added to `seen` to make it `wanted`. Modulo 2^64: a packet that was counted in both directions was seen
/// twice, and is taken back here.
ShardStats missing(const ShardStats& wanted, const ShardStats& seen) {
  ShardStats delta;
  delta.receivedPackets = wanted.receivedPackets - seen.receivedPackets;
  delta.receivedBytes = wanted.receivedBytes - seen.receivedBytes;
  delta.countedPackets = wanted.countedPackets - seen.countedPackets;
  delta.untrackedPackets = wanted.untrackedPackets - seen.untrackedPackets;
  delta.foreignPackets = wanted.foreignPackets - seen.foreignPackets;
  for (std::size_t i = 0; i < kParseErrors; i++) delta.parseErrors[i] = wanted.parseErrors[i] - seen.parseErrors[i];
  return delta;
}

}  // namespace

void InlineReader::CloseRing::operator()(ring_buffer* ring) const { ring_buffer__free(ring); }

InlineReader::InlineReader(InlineProgram& program, Shard& shard, std::uint32_t idleMs)
    : program_(program),
      shard_(shard),
      before_(shard.stats()),
      samples_(ring_buffer__new(program.samplesFd(), takeSample, &shard, nullptr)) {
  if (!samples_) throw SourceError(std::string("cannot read the samples of the XDP counter: ") + strerror(errno));
  for (const Direction direction : {Direction::incoming, Direction::outgoing}) {
    if (direction == Direction::outgoing && !program.countsOutgoing()) continue;
    hosts_.emplace_back(program.hostsFd(direction), direction, program.maxHosts(), idleMs);
  }
}

InlineReader::~InlineReader() = default;

/// What was counted for networks since the last reading is handed over under their old numbers, or dropped with them.
void InlineReader::setNetworks(const InlinePrefixes& networks) {
  if (!networks_[0].empty()) settleStats();
  program_.setNetworks(networks.prefixes, networks.networkCount);
  for (auto& totals : networks_) totals.assign(networks.networkCount, {});
  replaced_ = &networks.table;
}

void InlineReader::read(std::uint64_t nowMs) {
  program_.setFlowEpoch(static_cast<std::uint32_t>(nowMs / kFlowEpochMs));
  for (InlineHosts& hosts : hosts_) hosts.read(shard_, nowMs, replaced_);
  replaced_ = nullptr;
  settleStats();
  ring_buffer__consume(samples_.get());
}

/// The stats are the kernel's, which gives every packet one outcome; what the shard made of the counts is put right.
void InlineReader::settleStats() {
  const inline_stats kernel = program_.stats();
  if (kernel.network_packets != networkPackets_) {
    networkPackets_ = kernel.network_packets;
    readNetworks(Direction::incoming);
    if (program_.countsOutgoing()) readNetworks(Direction::outgoing);
  }
  ShardStats wanted = before_;
  wanted.receivedPackets += kernel.received_packets;
  wanted.receivedBytes += kernel.received_bytes;
  wanted.countedPackets += kernel.counted_packets;
  wanted.untrackedPackets += kernel.untracked_packets;
  wanted.foreignPackets += kernel.foreign_packets;
  for (std::size_t i = 0; i < kParseErrors; i++) wanted.parseErrors[i] += kernel.errors[i];
  shard_.addOutcomes(missing(wanted, shard_.stats()));
}

void InlineReader::readNetworks(Direction direction) {
  std::vector<Counters>& last = networks_[static_cast<std::size_t>(direction)];
  if (last.empty()) return;
  const auto cpus = static_cast<std::size_t>(std::max(1, libbpf_num_possible_cpus()));
  keys_.resize(last.size());
  values_.resize(last.size() * cpus);
  auto count = static_cast<std::uint32_t>(last.size());
  std::uint32_t next = 0;
  // All fit: the map has exactly so many entries.
  const int error = bpf_map_lookup_batch(program_.networksFd(direction), nullptr, &next, keys_.data(), values_.data(),
                                         &count, nullptr);
  if (error < 0 && error != -ENOENT) return;
  for (std::size_t i = 0; i < count; i++) {
    const Counters now = sumOfCpus(std::span(values_).subspan(i * cpus, cpus));
    const std::uint32_t network = keys_[i];
    if (network >= last.size() || isSame(now, last[network])) continue;
    shard_.addNetworkCounts(network, direction, difference(now, last[network]));
    last[network] = now;
  }
}

}  // namespace floodwall
