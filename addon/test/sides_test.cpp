// What each thread's type refuses, checked by the compiler: that it builds is the test.
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "count/engine.h"

using namespace floodwall;

namespace {

template <typename T>
concept ChangesRows = requires(T& rows) {
  rows.hot(0).epoch = 1;
};
template <typename T>
concept ChangesColdRows = requires(T& rows) {
  rows.cold(0).synBytes = 1;
};
template <typename T>
concept ChangesOutgoing = requires(T& rows) {
  rows.outgoing(0) = Counters{};
};
template <typename T>
concept ChangesWideRows = requires(T& rows) {
  rows.wide(0, 0) = WideRow{};
};
template <typename T>
concept CountsIncoming = requires(T& rows, const Packet& packet) {
  rows.countIncoming(0, packet, false);
};
template <typename T>
concept AddsIncoming = requires(T& rows, const Counters& delta) {
  rows.addIncoming(0, delta);
};
template <typename T>
concept CountsUntracked = requires(T& view, const Counters& delta) {
  view.add(Direction::incoming, 0, delta);
};
template <typename T>
concept CountsFrames = requires(T& side, std::span<const Frame> frames) {
  side.countFrames(frames, Link::ethernet);
};
template <typename T>
concept TakesRows = requires(T& end, std::uint32_t& row) {
  end.pop(0, row);
};
template <typename T>
concept GivesRows = requires(T& end) {
  end.push(0);
};
template <typename T>
concept Evicts = requires(T& end) {
  end.put({});
};
template <typename T>
concept Lends = requires(T& side) {
  side.lendWatched(nullptr);
};
template <typename T>
concept KnowsStats = requires(const T& side) {
  side.stats();
};
template <typename T>
concept ReadsWithoutLock = requires(T& value) {
  value.read();
};
template <typename T>
concept Changes = requires(T& value) {
  value.change();
};
template <typename T>
concept AddsHosts = requires(T& state, const Address& address) {
  state.hosts.add(address, 0);
};
template <typename T>
concept RaisesEpochs = requires(T& control) {
  control.epoch.store(1);
};

using State = std::remove_cvref_t<decltype(std::declval<const Fold&>().state())>;

// Only a worker changes rows and counters of what has none.
static_assert(ChangesRows<HostRows>);
static_assert(!ChangesRows<decltype(ShardFoldSide::rows)>);
static_assert(ChangesColdRows<HostRows> && !ChangesColdRows<decltype(ShardFoldSide::rows)>);
static_assert(ChangesOutgoing<HostRows> && !ChangesOutgoing<decltype(ShardFoldSide::rows)>);
static_assert(ChangesWideRows<HostRows> && !ChangesWideRows<decltype(ShardFoldSide::rows)>);
static_assert(CountsIncoming<HostRows> && !CountsIncoming<decltype(ShardFoldSide::rows)>);
static_assert(AddsIncoming<HostRows> && !AddsIncoming<decltype(ShardFoldSide::rows)>);
static_assert(CountsUntracked<ShardView>);
static_assert(!CountsUntracked<const ShardView>);
static_assert(CountsFrames<Shard>);
static_assert(!CountsFrames<ShardFoldSide>);
static_assert(!CountsFrames<ShardReaderSide>);
static_assert(!RaisesEpochs<std::remove_reference_t<decltype(*std::declval<const Fold&>().control())>>);

// Rows are given at the worker's end and taken at the fold's.
static_assert(GivesRows<Handover>);
static_assert(!GivesRows<HandoverFoldEnd>);
static_assert(TakesRows<HandoverFoldEnd>);
static_assert(!TakesRows<Handover>);
static_assert(Evicts<EvictionsFoldEnd>);
static_assert(!Evicts<Evictions>);
static_assert(Lends<ShardFoldSide>);
static_assert(!Lends<Shard>);

// Readers only read: of a shard its stats and samples, of the fold its state under the lock.
static_assert(KnowsStats<ShardReaderSide>);
static_assert(!TakesRows<const HandoverFoldEnd>);
static_assert(!Lends<const ShardFoldSide>);
static_assert(ReadsWithoutLock<State>);
static_assert(!ReadsWithoutLock<const State>);
static_assert(Changes<State>);
static_assert(!Changes<const State>);
static_assert(AddsHosts<FoldedState>);
static_assert(std::same_as<decltype(*std::declval<const State&>().lock()), const FoldedState&>);
static_assert(!AddsHosts<const FoldedState>);

}  // namespace
