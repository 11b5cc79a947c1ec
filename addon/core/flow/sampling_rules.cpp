#include "flow/sampling_rules.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace floodwall {
namespace {

enum class Form : std::uint8_t {
  /// `taken` of `all`.
  outOf,
  /// `taken` in a row, then `all` are left out.
  thenSpace,
  /// One in `taken`.
  oneIn,
  /// With the probability `taken`.
  chance,
};

struct Rule {
  Form form;
  Slot taken;
  Slot all = Slot::none;
};

/// The first whose elements a record has, with `taken` above 0. Elements that say how exact a rate is, as 336 to 338
/// (RFC 5477, 8.6), and the selector's algorithm (304) say none.
constexpr Rule kRules[] = {
    // RFC 5477, 8.2.5 and 8.2.6. Before 305: Cisco IOS XR says 305 = 1 beside them.
    {Form::outOf, Slot::samplingSize, Slot::samplingPopulation},
    // RFC 5477, 8.2.1 to 8.2.4: Nokia SR OS, Junos.
    {Form::thenSpace, Slot::packetInterval, Slot::packetSpace},
    {Form::thenSpace, Slot::timeInterval, Slot::timeSpace},
    // RFC 3954, 8, fields 34 and 50.
    {Form::oneIn, Slot::samplingInterval},
    {Form::oneIn, Slot::randomInterval},
    // RFC 5477, 8.2.7.
    {Form::chance, Slot::samplingProbability},
    // Cisco IOS XR (7.8; ASR 9000, NCS, 8000) has the interval of 1:N in 305 and leaves 306 out.
    {Form::oneIn, Slot::packetInterval},
};

double ratio(std::uint64_t all, std::uint64_t taken) noexcept {
  return static_cast<double>(all) / static_cast<double>(taken);
}

const NumberField* fieldOf(const RecordLayout& layout, Slot slot) noexcept {
  for (const NumberField& field : layout.numbers) {
    if (field.slot == slot) return &field;
  }
  return nullptr;
}

/// A float64, or a float32 where it was sent in 4 bytes (RFC 7011, 6.2).
double probabilityIn(const RecordLayout& layout, const SlotValues& values) noexcept {
  constexpr std::uint8_t kShiftOfFourBytes = 32;
  const NumberField* const field = fieldOf(layout, Slot::samplingProbability);
  if (field == nullptr) return 0;
  if (field->shift == 0) return std::bit_cast<double>(values[field->slot]);
  return field->shift == kShiftOfFourBytes ? std::bit_cast<float>(values.u32(field->slot)) : 0;
}

/// MikroTik RouterOS writes the interval in little endian: one that is too long, and is none read so, was meant so.
double intervalIn(const RecordLayout& layout, const SlotValues& values, Slot slot, RatePlace place) noexcept {
  constexpr std::uint64_t kUsualMost = 65'535;
  const std::uint64_t value = values[slot];
  const std::uint64_t most = place == RatePlace::flowRecord ? kUsualMost : kRateMost;
  const NumberField* const field = fieldOf(layout, slot);
  if (value <= most || field == nullptr) return static_cast<double>(value);
  const std::uint64_t turned = __builtin_bswap64(value) >> field->shift;
  return static_cast<double>(turned != 0 && turned <= kUsualMost ? turned : value);
}

double rateBy(const Rule& rule, const RecordLayout& layout, const SlotValues& values, RatePlace place) noexcept {
  switch (rule.form) {
    case Form::outOf:
      return ratio(values[rule.all], values[rule.taken]);
    case Form::thenSpace:
      return 1 + ratio(values[rule.all], values[rule.taken]);
    case Form::oneIn:
      return intervalIn(layout, values, rule.taken, place);
    case Form::chance: {
      const double probability = probabilityIn(layout, values);
      return probability > 0 && probability <= 1 ? 1 / probability : 0;
    }
  }
  return 0;
}

bool appliesTo(const Rule& rule, const RecordLayout& layout) noexcept {
  const bool isIntervalAlone = rule.form == Form::oneIn && rule.taken == Slot::packetInterval;
  if (isIntervalAlone && layout.has(Slot::packetSpace)) return false;
  return layout.has(rule.taken) && (rule.all == Slot::none || layout.has(rule.all));
}

}  // namespace

SaidRate rateIn(const RecordLayout& layout, const SlotValues& values, RatePlace place) noexcept {
  SaidRate said;
  for (const Rule& rule : kRules) {
    if (!appliesTo(rule, layout) || values[rule.taken] == 0) continue;
    const double rate = rateBy(rule, layout, values, place);
    // A population of 0 says nothing.
    if (rate == 0) continue;
    // Rates that are no whole number are rounded.
    if (rate >= 1 && rate <= kRateMost) return {static_cast<std::uint32_t>(std::llround(rate)), false};
    said.isImpossible = true;
  }
  if (said.isImpossible) return said;
  // An interval of 0 without an algorithm: an exporter that says that it does not sample.
  const bool hasInterval = layout.has(Slot::samplingInterval) || layout.has(Slot::randomInterval);
  const bool isZero = values[Slot::samplingInterval] == 0 && values[Slot::randomInterval] == 0;
  if (place == RatePlace::options && hasInterval && isZero && values[Slot::samplingAlgorithm] == 0) said.rate = 1;
  return said;
}

SamplingScope scopeOf(const RecordLayout& layout, bool hasInterface) noexcept {
  if (layout.has(Slot::sampler) || layout.has(Slot::selector)) return SamplingScope::sampler;
  if (hasInterface) return SamplingScope::interface;
  if (layout.has(Slot::scopeTemplate)) return SamplingScope::flowTemplate;
  if (layout.has(Slot::lineCard) || layout.has(Slot::meteringProcess)) return SamplingScope::part;
  return SamplingScope::domain;
}

std::uint64_t partIn(const RecordLayout& layout, const SlotValues& values) noexcept {
  constexpr std::uint64_t kLineCard = std::uint64_t{1} << 32, kMeteringProcess = kLineCard << 1;
  if (layout.has(Slot::lineCard)) return kLineCard | values.u32(Slot::lineCard);
  return layout.has(Slot::meteringProcess) ? kMeteringProcess | values.u32(Slot::meteringProcess) : 0;
}

bool hasRate(const RecordLayout& layout) noexcept {
  return std::any_of(std::begin(kRules), std::end(kRules), [&](const Rule& rule) { return appliesTo(rule, layout); });
}

}  // namespace floodwall
