#include "count/shard.h"

#include "count/shard_state.h"

namespace floodwall {

Shard::Shard(std::unique_ptr<ShardState> state) : state_(std::move(state)) {}
Shard::~Shard() = default;

void Shard::countFrames(std::span<const Frame> frames, Link link) { state_->countFrames(frames, link); }
void Shard::addHostCounts(const Address& address, Direction direction, const Counters& delta) {
  state_->addHostCounts(address, direction, delta);
}
void Shard::addNetworkCounts(std::uint32_t network, Direction direction, const Counters& delta) {
  state_->addNetworkCounts(network, direction, delta);
}
void Shard::addOutcomes(const ShardStats& delta) { state_->addOutcomes(delta); }
void Shard::addSample(const Frame& frame, Link link) { state_->addSample(frame, link); }
void Shard::enterIdle() noexcept { state_->enterIdle(); }
void Shard::leaveIdle() noexcept { state_->leaveIdle(); }
ShardStats Shard::stats() const { return state_->stats(); }

}  // namespace floodwall
