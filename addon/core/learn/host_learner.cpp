#include "learn/host_learner.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace floodwall {
namespace {

Address addressAt(std::span<const std::uint8_t> addresses, std::size_t row) noexcept {
  Address address;
  std::memcpy(address.bytes.data(), &addresses[row * sizeof(address.bytes)], sizeof(address.bytes));
  return address;
}

std::uint32_t roomFor(std::size_t addresses) { return static_cast<std::uint32_t>(std::max<std::size_t>(addresses, 1)); }

/// Whether the first `bits` bits are equal.
bool agree(const Address& a, const Address& b, unsigned bits) noexcept {
  const std::size_t whole = bits / 8;
  if (std::memcmp(a.bytes.data(), b.bytes.data(), whole) != 0) return false;
  const unsigned rest = bits % 8;
  return rest == 0 || (a.bytes[whole] ^ b.bytes[whole]) >> (8 - rest) == 0;
}

class OneAtATime {
 public:
  explicit OneAtATime(std::atomic<bool>& isBusy) : isBusy_(isBusy) {
    if (isBusy_.exchange(true)) throw std::logic_error("the slice before has not ended");
  }
  OneAtATime(const OneAtATime&) = delete;
  OneAtATime& operator=(const OneAtATime&) = delete;
  ~OneAtATime() { isBusy_ = false; }

 private:
  std::atomic<bool>& isBusy_;
};

}  // namespace

SparedHosts::SparedHosts(std::span<const std::uint8_t> attackedIn, std::span<const std::uint8_t> attackedOut,
                         std::span<const std::uint8_t> banned, std::span<const std::uint8_t> lengths)
    : index_(roomFor((attackedIn.size() + attackedOut.size() + banned.size()) / sizeof(Address))) {
  add(attackedIn, kAttackedIn);
  add(attackedOut, kAttackedOut);
  for (std::size_t i = 0; i < std::min(lengths.size(), banned.size() / sizeof(Address)); i++) {
    if (lengths[i] >= 128) {
      add(addressAt(banned, i), kBanned);
    } else {
      prefixes_.push_back({addressAt(banned, i), lengths[i]});
    }
  }
}

std::uint8_t SparedHosts::of(const Address& address) const noexcept {
  std::uint8_t why = 0;
  if (!hosts_.empty()) {
    const std::uint32_t host =
        index_.find(hash_.of(address), [&](std::uint32_t i) { return hosts_[i].address == address; });
    if (host != kNoRow) why = hosts_[host].why;
  }
  for (const Prefix& prefix : prefixes_) {
    if (agree(address, prefix.address, prefix.length)) return why | kBanned;
  }
  return why;
}

void SparedHosts::add(std::span<const std::uint8_t> addresses, std::uint8_t why) {
  for (std::size_t i = 0; i < addresses.size() / sizeof(Address); i++) add(addressAt(addresses, i), why);
}

void SparedHosts::add(const Address& address, std::uint8_t why) {
  const std::uint64_t hash = hash_.of(address);
  const std::uint32_t known = index_.find(hash, [&](std::uint32_t i) { return hosts_[i].address == address; });
  if (known != kNoRow) {
    hosts_[known].why |= why;
    return;
  }
  hosts_.push_back({address, why});
  index_.insert(hash, static_cast<std::uint32_t>(hosts_.size() - 1),
                [&](std::uint32_t i) { return hash_.of(hosts_[i].address); });
}

HostLearner::Rows::Rows()
    : addresses(kChunkRows * sizeof(Address)),
      groups(kChunkRows),
      networks(kChunkRows),
      idleMs(kChunkRows),
      incoming(kChunkRows * kMetrics),
      outgoing(kChunkRows * kMetrics),
      weights(kChunkRows * kWeights) {}

HostLearner::HostLearner(std::uint32_t capacity, std::uint32_t directions) : baselines_(capacity, directions) {}

void HostLearner::setGroups(std::vector<LearnedGroup> groups) {
  const std::scoped_lock held(lock_);
  baselines_.setGroups(std::move(groups));
}

void HostLearner::beginPass(const LearningPass& pass) {
  const std::scoped_lock held(lock_);
  pass_ = pass;
  baselines_.beginPass(pass.hour, pass.idleSeconds);
}

void HostLearner::setSpared(std::shared_ptr<const SparedHosts> spared) {
  const std::scoped_lock held(lock_);
  std::swap(spared_, spared);
}

void HostLearner::learnRows(const HostColumns& rows, std::size_t count, GuardedSums* sums) {
  for (std::size_t first = 0; first < count; first += kChunkRows) {
    const std::size_t most = std::min(count - first, kChunkRows);
    const std::scoped_lock held(lock_);
    if (sums == nullptr) {
      learnChunk(rows, first, most, nullptr);
      continue;
    }
    const std::scoped_lock sumsHeld(sums->lock);
    learnChunk(rows, first, most, sums->sums.isOn() ? &sums->sums : nullptr);
  }
}

std::int64_t HostLearner::learnHosts(const Engine& engine, std::int64_t cursor, GuardedSums* sums) {
  const OneAtATime slice(isLearning_);
  const HostColumns rows = rows_.columns();
  for (std::size_t learned = 0; learned < kSliceRows && cursor >= 0;) {
    const HostChunk chunk = engine.readHosts(cursor, rows);
    learnRows(rows, chunk.count, sums);
    learned += chunk.count;
    cursor = chunk.next;
  }
  return cursor;
}

void HostLearner::learn(const Address& key, std::uint32_t group, std::uint32_t side, const double* rates,
                        const LearningMoment& moment) {
  const std::scoped_lock held(lock_);
  const LearnedGroup* const of = baselines_.group(group);
  if (of != nullptr) baselines_.learn(key, baselines_.table().hashOf(key), side, *of, rates, moment);
}

void HostLearner::read(std::span<const std::uint8_t> keys, std::span<const std::uint32_t> groups,
                       std::span<double> out) const {
  const std::scoped_lock held(lock_);
  baselines_.read(keys, groups, out);
}

void HostLearner::learnChunk(const HostColumns& rows, std::size_t first, std::size_t count, PrefixSums* sums) {
  std::array<Address, kChunkRows> addresses;
  std::array<std::uint64_t, kChunkRows> hashes;
  const BaselineTable& table = baselines_.table();
  // In three rounds, so that what rows need of memory is on its way before it is used.
  for (std::size_t i = 0; i < count; i++) {
    addresses[i] = addressAt(rows.addresses, first + i);
    hashes[i] = table.hashOf(addresses[i]);
    table.prefetchIndex(hashes[i]);
  }
  for (std::size_t i = 0; i < count; i++) table.prefetchRow(hashes[i]);
  for (std::size_t i = 0; i < count; i++) learnRow(rows, first + i, addresses[i], hashes[i], sums);
}

void HostLearner::learnRow(const HostColumns& rows, std::size_t row, const Address& address, std::uint64_t hash,
                           PrefixSums* sums) {
  const LearnedGroup* const group = baselines_.group(rows.groups[row]);
  if (group == nullptr || group->isWhole || rows.idleMs[row] >= pass_.windowMs) return;
  const std::uint8_t spared = spared_->of(address);
  // Otherwise each ban would lower the normal rate, and the returning legitimate traffic would be an attack.
  const bool isLearned = group->rule.has_value() && (spared & SparedHosts::kBanned) == 0;
  if ((spared & SparedHosts::kAttackedIn) == 0) {
    // The traffic of a host with an attack of its own is not part of a carpet attack.
    const bool isInCarpet = sums != nullptr && sums->add(rows, row);
    if (isLearned && !isInCarpet) {
      baselines_.learn(address, hash, 0, *group, &rows.incoming[row * kMetrics], pass_.moment);
    }
  }
  if (isLearned && (spared & SparedHosts::kAttackedOut) == 0) {
    baselines_.learn(address, hash, 1, *group, &rows.outgoing[row * kMetrics], pass_.moment);
  }
}

}  // namespace floodwall
