#include "count/engine.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace floodwall {
namespace {

/// Room for a busy window of every host; what finds none is carried, see WindowSums.
constexpr std::size_t kJournalBytesPerHost = 128;
constexpr std::size_t kJournalBytesMin = std::size_t{4} << 20;
/// Numbers for untracked packets by place: those that hold, and those of the networks before while they leave.
constexpr std::uint32_t kPlaceNumbers = 2 * static_cast<std::uint32_t>(kPrefixesMax);

/// Numbers of replaced hosts whose counts are still in the window.
constexpr std::uint32_t kSpareNumbersMin = 4096, kSpareNumbersMax = 350'000;

static_assert(kHostsMax + kPlaceNumbers + kSpareNumbersMax < kIndexRowsMax);

std::uint32_t spareNumbers(std::uint32_t maxHosts) noexcept {
  return std::clamp(maxHosts / 8, kSpareNumbersMin, kSpareNumbersMax);
}
std::uint32_t numbers(std::uint32_t maxHosts) noexcept { return maxHosts + kPlaceNumbers + spareNumbers(maxHosts); }

/// Folds until a number comes back: the window, and the sweep that looks for it. As many may go in each, so that there
/// always are some.
constexpr std::uint32_t kSweptFolds = 40;
std::uint32_t replacedEachFold(const EngineOptions& options) noexcept {
  return std::max(spareNumbers(options.maxHosts) / (options.windowMs / options.tickMs + kSweptFolds), 1U);
}

void checkRange(const char* name, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
  if (value >= least && value <= most) return;
  throw std::out_of_range(std::string(name) + " must be between " + std::to_string(least) + " and " +
                          std::to_string(most));
}

const EngineOptions& checked(const EngineOptions& options) {
  checkRange("maxHosts", options.maxHosts, 1, kHostsMax);
  checkRange("windowMs", options.windowMs, kWindowMsMin, kWindowMsMax);
  checkRange("tickMs", options.tickMs, kTickMsMin, kTickMsMax);
  if (options.windowMs % options.tickMs != 0) throw std::out_of_range("tickMs must divide windowMs");
  checkRange("idleMs", options.idleMs, options.windowMs, kIdleMsMax);
  return options;
}

std::shared_ptr<Control> controlFor(const EngineOptions& options) {
  auto control = std::make_shared<Control>();
  if (options.hashSeed != 0) control->hash = AddressHash(options.hashSeed);
  // Half a second more than the window, until the delay is set.
  control->profiles->delayEpochs = (options.windowMs + 500) / options.tickMs;
  control->maxHosts = options.maxHosts;
  control->countOutgoing = options.countOutgoing;
  control->idleEpochs = options.idleMs / options.tickMs + 1;
  control->epochsPerSecond = std::max(1000 / options.tickMs, 1U);
  control->windowMs = options.windowMs;
  control->epochsPerWindow = options.windowMs / options.tickMs;
  return control;
}

}  // namespace

Engine::Engine(const EngineOptions& options)
    : options_(checked(options)),
      control_(controlFor(options)),
      newWatched_(std::make_shared<WatchedHosts>()),
      newScreens_(std::make_shared<Screens>()),
      networks_(std::make_shared<Networks>()),
      screens_(newScreens_),
      hosts_(options.maxHosts, numbers(options.maxHosts), control_->hash),
      clock_(options.windowMs, options.tickMs),
      sums_({numbers(options.maxHosts), options.countOutgoing,
             std::max(kJournalBytesMin, options.maxHosts * kJournalBytesPerHost)},
            clock_),
      watched_(newWatched_),
      replacedMax_(replacedEachFold(options)),
      recent_(std::uint64_t{options.windowMs} * 1'000'000) {}

std::shared_ptr<Shard> Engine::addShard() {
  auto owned = std::make_shared<Shard>(control_);
  auto ledger = std::make_unique<ShardLedger>(owned, *control_);
  const std::scoped_lock settings(settingsLock_);
  {
    const std::scoped_lock held(lock_);
    ledger->lend(newNetworks_ != nullptr ? newNetworks_ : networks_, newWatched_, control_->epoch.load());
  }
  const std::shared_ptr<std::atomic<bool>> isClosed = ledger->isClosed;
  newLedgers_.push_back(std::move(ledger));
  return {owned.get(), [owned, isClosed](Shard* shard) {
            shard->enterIdle();
            isClosed->store(true, std::memory_order_release);
          }};
}

void Engine::setNetworks(const NetworksColumns& columns) {
  auto networks = std::make_shared<const Networks>(columns);
  const std::scoped_lock settings(settingsLock_);
  newNetworks_ = std::move(networks);
}

void Engine::setScreens(std::span<const double> screens) {
  if (screens.size() % (2 * kMetrics) != 0) throw std::invalid_argument("screens: not 26 values a group");
  auto fresh = std::make_shared<const Screens>(screens);
  const std::scoped_lock settings(settingsLock_);
  newScreens_ = std::move(fresh);
}

void Engine::setWatched(std::span<const std::uint8_t> addresses) {
  if (addresses.size() % 16 != 0 || addresses.size() / 16 > kWatchedMax) {
    throw std::invalid_argument("watched: not 16 bytes a host, or more than " + std::to_string(kWatchedMax) + " hosts");
  }
  const std::scoped_lock settings(settingsLock_);
  newWatched_ = std::make_shared<const WatchedHosts>(addresses, *newWatched_);
}

void Engine::keepIntervals() {
  auto intervals = std::make_unique<const Intervals>(numbers(options_.maxHosts), options_.countOutgoing);
  const std::scoped_lock settings(settingsLock_);
  newIntervals_ = std::move(intervals);
}

EngineStats Engine::stats() const {
  const std::scoped_lock held(lock_);
  EngineStats stats{hosts_.tracked(), refusedHosts_, untrackedByNetwork_, sums_.carried(), 0,
                    replacedHosts_,   evictedRows_};
  stats.memoryBytes = recent_.residentBytes() + hosts_.residentBytes() + sums_.residentBytes() +
                      networks_->memoryBytes() + screened_.residentBytes();
  if (intervals_ != nullptr) stats.memoryBytes += intervals_->residentBytes();
  if (errors_ != nullptr) stats.memoryBytes += errors_->residentBytes();
  for (const auto& ledger : ledgers_) {
    stats.refusedHosts += ledger->shard->refusedHosts();
    stats.evictedRows += ledger->shard->evictedRows();
    stats.memoryBytes += ledger->residentBytes();
  }
  return stats;
}

}  // namespace floodwall
