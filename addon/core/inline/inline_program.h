// The loaded XDP program of an inline interface with its maps. Counts nothing until it is attached (xdp_attach.h), and
// finds every packet foreign until it is given networks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/prefix_table.h"
#include "base/unique_fd.h"
#include "count/counters.h"
#include "filter/filter_maps.h"
#include "inline/inline_table.h"
#include "inline_abi.h"
#include "parse/encapsulation.h"
#include "program/program_load.h"

struct xdp_inline_bpf;

namespace floodwall {

struct InlineProgramOptions {
  std::uint32_t maxHosts = 1;
  bool countOutgoing = false;
  /// One packet in this number is sampled; 0: none.
  std::uint32_t sampleEvery = 0;
  /// The interface's frames may be longer than one buffer.
  bool hasFragments = false;
  /// Encapsulations that are removed.
  Encapsulations decapsulated{};
  VxlanPorts vxlanPorts{};
  /// Where the interface filters too: the filter's maps, which outlive the program.
  const FilterMaps* filter = nullptr;
  /// See FilterProgram.
  int forwardCall = -1;
  /// Only whether the kernel takes the program is to be seen: the same program, with maps too small to count in.
  bool isTrial = false;
  /// See LoadOrder.
  ProgramSize* size = nullptr;
};

class InlineProgram {
 public:
  /// Throws SourceError.
  explicit InlineProgram(const InlineProgramOptions& options);

  /// Replaces the networks as a whole, while the program runs: values are network identifiers below `networkCount`.
  /// Throws SourceError and leaves the networks as they were when the kernel has no memory for them.
  void setNetworks(std::span<const PrefixValue> prefixes, std::uint32_t networkCount);
  /// Ages the flows that were seen. Call several times a second.
  void setFlowEpoch(std::uint32_t epoch) noexcept;

  [[nodiscard]] int programFd() const;
  [[nodiscard]] InlineTable& table() noexcept { return *table_; }
  [[nodiscard]] Direction directionOf(std::uint32_t lane) const noexcept {
    return options_.countOutgoing && lane % 2 == 1 ? Direction::outgoing : Direction::incoming;
  }
  /// Counts of all lanes by network identifier; another map after setNetworks. Negative before the first.
  [[nodiscard]] int networksFd() const noexcept { return networkCounts_.get(); }
  [[nodiscard]] int samplesFd() const;
  /// Sum of all CPUs.
  [[nodiscard]] inline_stats stats() const;
  [[nodiscard]] std::uint32_t maxHosts() const noexcept { return options_.maxHosts; }
  /// A sample stands for this number of packets; at least 1.
  [[nodiscard]] std::uint32_t sampleEvery() const noexcept { return std::max(options_.sampleEvery, 1U); }

 private:
  struct Close {
    void operator()(xdp_inline_bpf* skeleton) const;
  };
  [[nodiscard]] std::uint32_t lanes() const noexcept;
  void configure();
  void load();
  void openTable();

  InlineProgramOptions options_;
  std::unique_ptr<xdp_inline_bpf, Close> skeleton_;
  std::optional<InlineTable> table_;
  UniqueFd networkCounts_;
  /// Counts of no network, which the kernel compares others with.
  UniqueFd rowsModel_;
};

}  // namespace floodwall
