#include "count/folded_state.h"

#include <algorithm>
#include <cstring>
#include <span>

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

}  // namespace

std::uint32_t replacedEachFold(const EngineOptions& options) noexcept {
  return std::max(spareNumbers(options.maxHosts) / (options.windowMs / options.tickMs + kSweptFolds), 1U);
}

FoldedState::FoldedState(const EngineOptions& with, const AddressHash& hash)
    : options(with),
      hosts(with.maxHosts, numbers(with.maxHosts), hash),
      clock(with.windowMs, with.tickMs),
      sums({numbers(with.maxHosts), with.countOutgoing,
            std::max(kJournalBytesMin, with.maxHosts * kJournalBytesPerHost)},
           clock) {}

HostRates FoldedState::ratesOfHost(std::uint32_t host) const noexcept {
  HostRates rates{};
  const std::span<double, 2 * kMetrics> both(rates);
  ratesOf(sums.of(host, Direction::incoming), clock.seconds(), both.first<kMetrics>());
  if (options.countOutgoing) {
    ratesOf(sums.of(host, Direction::outgoing), clock.seconds(), both.last<kMetrics>());
  }
  return rates;
}

HostRates FoldedState::ratesOfTotals(const std::array<Totals, 2>& totals) const noexcept {
  HostRates rates{};
  const std::span<double, 2 * kMetrics> both(rates);
  ratesOf(totals[0], clock.seconds(), both.first<kMetrics>());
  ratesOf(totals[1], clock.seconds(), both.last<kMetrics>());
  return rates;
}

RowWeights FoldedState::weightsOfHost(std::uint32_t host) const noexcept {
  if (!errors) return {};
  return rowWeights(errors->of(host, Direction::incoming).weights(errorTime),
                    errors->of(host, Direction::outgoing).weights(errorTime));
}

double FoldedState::idleMsOf(std::uint32_t host) const noexcept {
  return static_cast<double>(nowMs() - hosts[host].activeMs);
}

ScreenedHost FoldedState::screenedHost(std::uint32_t host) const noexcept {
  const Place& at = networks->places()[hosts[host].place];
  return {hosts[host].address, at.network, at.group, idleMsOf(host), ratesOfHost(host), weightsOfHost(host)};
}

/// For every host with packets, while its sums are at hand: nearly all are far below their screens, and are not looked
/// at again.
bool FoldedState::mayReach(std::uint32_t host, double shareOfScreen) const noexcept {
  const std::uint32_t group = groupOf(host);
  const auto reaches = [&](Direction direction) {
    return screens->mayReach(sums.of(host, direction), clock.seconds() * shareOfScreen, group, direction);
  };
  return reaches(Direction::incoming) || (options.countOutgoing && reaches(Direction::outgoing));
}

/// Outgoing rates that are not counted are not written: they are the caller's zeros.
void FoldedState::writeRow(const ScreenedHost& host, const HostColumns& out, std::size_t row) const noexcept {
  std::memcpy(&out.addresses[row * 16], host.address.bytes.data(), 16);
  out.groups[row] = host.group;
  out.networks[row] = host.network;
  out.idleMs[row] = host.idleMs;
  const auto at = static_cast<std::ptrdiff_t>(row * kMetrics);
  std::copy_n(host.rates.begin(), kMetrics, out.incoming.begin() + at);
  if (options.countOutgoing) std::copy_n(host.rates.begin() + kMetrics, kMetrics, out.outgoing.begin() + at);
  std::copy(host.weights.begin(), host.weights.end(),
            out.weights.begin() + static_cast<std::ptrdiff_t>(row * kWeights));
}

void FoldedState::writeInterval(std::uint32_t host, const IntervalColumns& out, std::size_t row) const noexcept {
  std::memcpy(&out.addresses[row * 16], hosts[host].address.bytes.data(), 16);
  out.groups[row] = groupOf(host);
  const std::size_t at = row * kIntervalValues;
  const bool isSampled = errors.has_value();
  intervals->read(host, Direction::incoming, isSampled, out.incoming.subspan(at).first<kIntervalValues>());
  intervals->read(host, Direction::outgoing, isSampled, out.outgoing.subspan(at).first<kIntervalValues>());
}

}  // namespace floodwall
