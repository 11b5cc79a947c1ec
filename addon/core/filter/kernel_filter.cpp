#include "filter/kernel_filter.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/boot_clock.h"
#include "base/source_error.h"

namespace floodwall {
namespace {

constexpr std::chrono::seconds kWatchInterval{1};
constexpr std::chrono::hours kCookieKeyLife{1};

}  // namespace

KernelFilter::KernelFilter(KernelFilterOptions options)
    : options_(std::move(options)),
      pins_(options_.pinPath),
      maps_(adoptOrMake()),
      pairs_(maps_),
      rules_(maps_),
      outcomes_(maps_) {
  if (options_.forward) forwarder_.emplace(options_.interfaces, *options_.forward);
  Forwarder* forwarder = forwarder_ ? &*forwarder_ : nullptr;
  for (const std::string& interface : options_.interfaces) {
    ports_.push_back(
        std::make_unique<FilterPort>(interface, options_.xdpMode, pins_.link(interface), maps_, forwarder));
  }
}

FilterMaps KernelFilter::adoptOrMake() {
  prepareBpf();
  if (!pins_.schemas().empty()) {
    origin_ = FilterOrigin::replaced;
    if (auto pinned = FilterMaps::open(pins_.maps(), true); pinned && pinned->shape() == options_.shape) {
      origin_ = FilterOrigin::adopted;
      return std::move(*pinned);
    }
  }
  return FilterMaps::create(options_.shape);
}

KernelFilter::~KernelFilter() { close(true); }

void KernelFilter::attach() {
  const std::lock_guard lock(portsMutex_);
  if (isAttached_ || isClosed_) return;
  if (origin_ != FilterOrigin::adopted) {
    pins_.beginNext();
    maps_.pin(pins_.nextMaps());
  }
  if (forwarder_) forwarder_->follow();
  for (const auto& port : ports_) port->check();
  removeForeignLinks();
  // No program calls that of the previous process any more.
  pins_.removeForward();
  if (forwarder_) forwarder_->pin(pins_.makeForward());
  if (origin_ != FilterOrigin::adopted) pins_.promoteNext();
  isAttached_ = true;
  watcher_ = std::thread([this] { watch(); });
}

/// Links of interfaces that are no longer configured for the filter.
void KernelFilter::removeForeignLinks() {
  for (const std::string& interface : pins_.links()) {
    if (has(interface)) continue;
    const std::string path = pins_.link(interface);
    const UniqueFd link(bpf_obj_get(path.c_str()));
    if (link) bpf_link_detach(link.get());
    unlink(path.c_str());
  }
}

bool KernelFilter::has(const std::string& interface) const {
  const auto& all = options_.interfaces;
  return std::find(all.begin(), all.end(), interface) != all.end();
}

void KernelFilter::watch() {
  std::unique_lock lock(portsMutex_);
  auto keyMadeAt = std::chrono::steady_clock::now();
  while (!wake_.wait_for(lock, kWatchInterval, [this] { return isStopping_; })) {
    for (const auto& port : ports_) port->check();
    if (forwarder_) forwarder_->follow();
    const std::lock_guard tables(tablesMutex_);
    pairs_.sweep(bootNs());
    rules_.sweep(bootNs());
    const auto now = std::chrono::steady_clock::now();
    if (now - keyMadeAt < kCookieKeyLife) continue;
    rotateCookieKey(maps_);
    keyMadeAt = now;
  }
}

void KernelFilter::putPairs(std::span<const PairKey> keys, std::span<const std::uint64_t> expiresAtNs) {
  const std::lock_guard lock(tablesMutex_);
  pairs_.put(keys, expiresAtNs);
}

void KernelFilter::removePairs(std::span<const PairKey> keys) {
  const std::lock_guard lock(tablesMutex_);
  pairs_.remove(keys);
}

std::optional<PairHits> KernelFilter::readPair(const PairKey& key) const {
  const std::lock_guard lock(tablesMutex_);
  return pairs_.readOne(key);
}

std::int64_t KernelFilter::readPairs(std::uint32_t cursor, std::size_t most, const PairTable::See& see) const {
  const std::lock_guard lock(tablesMutex_);
  return pairs_.read(cursor, most, bootNs(), see);
}

void KernelFilter::setRules(std::span<const WantedRule> rules, std::span<const OperatorEntry> entries) {
  const std::lock_guard lock(tablesMutex_);
  rules_.set(rules, entries);
}

std::vector<RuleHits> KernelFilter::readRules() const {
  const std::lock_guard lock(tablesMutex_);
  return rules_.read(bootNs());
}

void KernelFilter::watch(std::span<const ip_address> destinations) {
  const std::lock_guard lock(tablesMutex_);
  outcomes_.watch(destinations);
}

std::vector<OutcomeTable::Counts> KernelFilter::readOutcomes() const {
  const std::lock_guard lock(tablesMutex_);
  return outcomes_.read();
}

void KernelFilter::setList(filter_set_kind list, std::vector<SetPrefix> prefixes) {
  const std::lock_guard lock(tablesMutex_);
  publishSet(maps_, list, std::move(prefixes));
}

void KernelFilter::setNamedSets(std::shared_ptr<const NamedSets> sets) {
  const std::lock_guard lock(setsMutex_);
  putNamedSets(maps_, *sets);
  namedSets_ = std::move(sets);
}

void KernelFilter::setForwardNetworks(const std::optional<std::vector<SetPrefix>>& networks) {
  if (forwarder_) forwarder_->setNetworks(networks);
}

int KernelFilter::forwardCall(bool hasFragments) { return forwarder_ ? forwarder_->callFd(hasFragments) : -1; }

KernelFilterStatus KernelFilter::status() const {
  KernelFilterStatus status;
  status.origin = origin_;
  status.shape = maps_.shape();
  for (const auto& port : ports_) status.ports.push_back(port->status());
  status.stats = maps_.stats();
  if (forwarder_) status.forward = forwarder_->status();
  const std::lock_guard lock(tablesMutex_);
  const std::uint64_t now = bootNs();
  status.pairs = pairs_.size();
  status.rules = rules_.count(now);
  return status;
}

void KernelFilter::lend(const std::string& interface, int programFd) {
  const std::lock_guard lock(portsMutex_);
  for (const auto& port : ports_) {
    if (port->interface() != interface) continue;
    if (isClosed_ || !isAttached_) throw SourceError("the filter is not attached to interface " + interface + " yet");
    return port->lend(programFd);
  }
  throw SourceError("the filter is not configured for interface " + interface);
}

void KernelFilter::giveBack(const std::string& interface) noexcept {
  const std::lock_guard lock(portsMutex_);
  if (isClosed_) return;
  for (const auto& port : ports_) {
    if (port->interface() == interface) port->giveBack();
  }
}

PortStatus KernelFilter::portStatus(const std::string& interface) const {
  for (const auto& port : ports_) {
    if (port->interface() == interface) return port->status();
  }
  PortStatus none;
  none.interface = interface;
  none.error = "the filter is not configured for interface " + interface;
  return none;
}

bool KernelFilter::drops(std::span<const std::uint8_t> frame) const {
  const std::lock_guard lock(tablesMutex_);
  if (!forTests_) forTests_.emplace(maps_, false);
  LIBBPF_OPTS(bpf_test_run_opts, run);
  run.data_in = frame.data();
  run.data_size_in = static_cast<std::uint32_t>(frame.size());
  const int error = bpf_prog_test_run_opts(forTests_->fd(), &run);
  if (error != 0)
    throw FilterError(std::string("the kernel does not run the filter over a frame: ") + strerror(-error));
  return run.retval == XDP_DROP;
}

void KernelFilter::close(bool keep) {
  {
    const std::lock_guard lock(portsMutex_);
    if (isClosed_) return;
    isClosed_ = true;
    isStopping_ = true;
  }
  wake_.notify_one();
  if (watcher_.joinable()) watcher_.join();
  const std::lock_guard lock(portsMutex_);
  // A filter that was never attached leaves the one that was in force before it.
  if (isAttached_) {
    for (const auto& port : ports_) port->close(keep);
    if (!keep) pins_.removeMaps();
    if (!keep) pins_.removeForward();
  }
  // A source may hold this object longer, while another process may take the pins.
  pins_.unlock();
}

FilterLoan::FilterLoan(std::shared_ptr<KernelFilter> filter, std::string interface, int programFd)
    : filter_(std::move(filter)), interface_(std::move(interface)) {
  filter_->lend(interface_, programFd);
}

}  // namespace floodwall
