// The settings that an engine's shards share, and the networks with counters for hosts that have no row.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/lazy_array.h"
#include "count/address_hash.h"
#include "count/host_profiles.h"
#include "count/host_rows.h"
#include "count/networks.h"
#include "count/wide_rows.h"

namespace floodwall {

/// The state that all shards of an engine share. The fold writes it; all others have it as `const`.
struct Control {
  std::uint32_t maxHosts = 0;
  bool countOutgoing = false;
  /// A row that was not touched for this number of epochs is freed.
  std::uint32_t idleEpochs = 0;
  std::uint32_t epochsPerSecond = 0;
  /// Flow records that lasted longer are spread; and how many epochs there are in it.
  std::uint32_t windowMs = 0;
  std::uint32_t epochsPerWindow = 0;
  AddressHash hash;
  const std::shared_ptr<ProfileControl> profiles = std::make_shared<ProfileControl>();
  alignas(64) std::atomic<std::uint32_t> epoch{1};
  std::atomic<std::uint32_t> trackedHosts{0};
  /// Some hosts may reach their screen before the next fold: what is counted is looked at sooner.
  std::atomic<bool> hasRising{false};
  /// When the last fold began, ms of the monotonic clock.
  std::atomic<std::uint64_t> foldedMs{0};
};

/// The networks as one shard uses them, with the counters of packets that have no row, by place. Made by the fold for
/// each shard; a worker takes a new one when it adopts an epoch. Only the worker has it other than as `const`.
class ShardView {
 public:
  ShardView(std::shared_ptr<const Networks> of, bool countOutgoing)
      : networks_(std::move(of)),
        untracked_{LazyArray<Counters>(networks_->places().size()),
                   LazyArray<Counters>(countOutgoing ? networks_->places().size() : 0)},
        untrackedWide_{LazyArray<WideRow>(networks_->places().size()),
                       LazyArray<WideRow>(countOutgoing ? networks_->places().size() : 0)} {}

  void count(Direction direction, std::uint32_t place, const Packet& packet, bool isNewFlow) noexcept {
    countPacket(untracked_[static_cast<std::size_t>(direction)][place], packet, isNewFlow);
    noteWrite();
  }
  void add(Direction direction, std::uint32_t place, const Counters& delta) noexcept {
    addCounters(untracked_[static_cast<std::size_t>(direction)][place], delta);
    noteWrite();
  }
  void count(Direction direction, std::uint32_t place, const Kind& kind, const Amount& amount) noexcept {
    untrackedWide_[static_cast<std::size_t>(direction)][place].count(kind, amount);
    noteWrite();
  }

  [[nodiscard]] const std::shared_ptr<const Networks>& networks() const noexcept { return networks_; }
  /// Places that are counted in this direction.
  [[nodiscard]] std::size_t places(std::size_t direction) const noexcept { return untracked_[direction].size(); }
  [[nodiscard]] Counters untrackedOf(std::size_t direction, std::uint32_t place) const noexcept {
    return peekCounters(untracked_[direction][place]);
  }
  [[nodiscard]] Weighed untrackedWideOf(std::size_t direction, std::uint32_t place) const noexcept {
    return untrackedWide_[direction][place].peek();
  }
  /// Grows with every write, so that the fold need not look through counters that stand still.
  [[nodiscard]] std::uint32_t writes() const noexcept { return writes_.load(std::memory_order_acquire); }

 private:
  void noteWrite() noexcept { writes_.store(writes_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  const std::shared_ptr<const Networks> networks_;
  /// By direction.
  std::array<LazyArray<Counters>, 2> untracked_;
  std::array<LazyArray<WideRow>, 2> untrackedWide_;
  std::atomic<std::uint32_t> writes_{0};
};

}  // namespace floodwall
