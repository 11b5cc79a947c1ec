#include "count/engine.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace floodwall {
namespace {

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
    : options_(checked(options)), fold_(options_, controlFor(options_), settings_) {}

std::shared_ptr<Shard> Engine::addShard() {
  const std::shared_ptr<const Control> control = fold_.control();
  auto owned = std::make_shared<Shard>(control);
  auto ledger = std::make_shared<ShardLedger>(owned, *control);
  const auto settings = settings_.lock();
  {
    const auto state = fold_.state().lock();
    const std::shared_ptr<const Networks>& networks = settings->networks;
    ledger->lend(networks != nullptr ? networks : state->networks, settings->watched, control->epoch.load());
  }
  const std::shared_ptr<std::atomic<bool>> isClosed = ledger->isClosed;
  settings->ledgers.push_back(std::move(ledger));
  return {owned.get(), [owned, isClosed](Shard* shard) {
            shard->enterIdle();
            isClosed->store(true, std::memory_order_release);
          }};
}

void Engine::setNetworks(const NetworksColumns& columns) {
  auto networks = std::make_shared<const Networks>(columns);
  settings_.lock()->networks = std::move(networks);
}

void Engine::setScreens(std::span<const double> screens) {
  if (screens.size() % (2 * kMetrics) != 0) throw std::invalid_argument("screens: not 26 values a group");
  auto fresh = std::make_shared<const Screens>(screens);
  settings_.lock()->screens = std::move(fresh);
}

void Engine::setWatched(std::span<const std::uint8_t> addresses) {
  if (addresses.size() % 16 != 0 || addresses.size() / 16 > kWatchedMax) {
    throw std::invalid_argument("watched: not 16 bytes a host, or more than " + std::to_string(kWatchedMax) + " hosts");
  }
  const auto settings = settings_.lock();
  settings->watched = std::make_shared<const WatchedHosts>(addresses, *settings->watched);
}

void Engine::keepIntervals() {
  Intervals intervals(fold_.state().lock()->sums.hosts(), options_.countOutgoing);
  settings_.lock()->intervals.emplace(std::move(intervals));
}

EngineStats Engine::stats() const {
  const std::size_t handedOver = fold_.handedOver().lock()->screened.residentBytes();
  const auto state = fold_.state().lock();
  EngineStats stats{state->hosts.tracked(), state->refusedHosts, state->untrackedByNetwork, state->sums.carried(), 0,
                    state->replacedHosts,   state->evictedRows};
  stats.memoryBytes = fold_.residentBytes() + state->hosts.residentBytes() + state->sums.residentBytes() +
                      state->networks->memoryBytes() + handedOver;
  if (state->intervals) stats.memoryBytes += state->intervals->residentBytes();
  if (state->errors) stats.memoryBytes += state->errors->residentBytes();
  for (const auto& ledger : state->ledgers) {
    stats.refusedHosts += ledger->readerSide->refusedHosts();
    stats.evictedRows += ledger->readerSide->evictedRows();
    stats.memoryBytes += ledger->residentBytes();
  }
  return stats;
}

}  // namespace floodwall
