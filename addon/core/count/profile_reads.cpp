// Readings of the hosts' profiles, over all workers.
#include <algorithm>
#include <cstring>

#include "count/engine.h"

namespace floodwall {

std::vector<std::shared_ptr<const ShardReaderSide>> Engine::shards() const {
  std::vector<std::shared_ptr<const ShardReaderSide>> all;
  const auto state = fold_.state().lock();
  for (const auto& ledger : state->ledgers) all.push_back(ledger->readerSide);
  return all;
}

void Engine::setProfileDelay(std::uint32_t ms) {
  const std::uint64_t epochs = (std::uint64_t{ms} + options_.tickMs - 1) / options_.tickMs;
  fold_.control()->profiles->delayEpochs.store(
      static_cast<std::uint32_t>(std::min<std::uint64_t>(epochs, kEpochMask / 4)), std::memory_order_relaxed);
}

std::uint32_t Engine::readProfile(const Address& address, std::span<profile_record> out) const {
  const std::shared_ptr<const Control> control = fold_.control();
  const std::uint32_t epoch = control->epoch.load(std::memory_order_relaxed);
  std::vector<profile_record> found;
  for (const auto& shard : shards()) shard->profiles().read(address, control->hash.of(address), epoch, found);
  const std::size_t count = std::min(found.size(), out.size());
  // Evenly from many workers.
  for (std::size_t i = 0; i < count; i++) out[i] = found[i * found.size() / count];
  return static_cast<std::uint32_t>(count);
}

HostChunk Engine::readProfiles(std::int64_t cursor, std::span<profile_row> out) const {
  HostChunk chunk;
  const std::shared_ptr<const Control> control = fold_.control();
  const std::uint32_t epoch = control->epoch.load(std::memory_order_relaxed);
  std::int64_t first = 0;
  std::vector<profile_record> found;
  for (const auto& shard : shards()) {
    const std::int64_t end = first + shard->profiles().end();
    for (std::int64_t at = std::max(cursor, first); at < end; at++) {
      if (chunk.count == out.size()) {
        chunk.next = at;
        return chunk;
      }
      Address address;
      found.clear();
      if (!shard->profiles().readNumber(static_cast<std::uint32_t>(at - first), epoch, address, found)) continue;
      profile_row& row = out[chunk.count++];
      row = {};
      std::memcpy(row.address, address.bytes.data(), sizeof row.address);
      row.count = static_cast<std::uint32_t>(std::min<std::size_t>(found.size(), PROFILE_PACKETS));
      // The youngest are last.
      std::copy_n(found.end() - row.count, row.count, row.records);
    }
    first = end;
  }
  return chunk;
}

}  // namespace floodwall
