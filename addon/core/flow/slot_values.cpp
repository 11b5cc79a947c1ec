#include "flow/slot_values.h"

#include <algorithm>
#include <limits>

namespace floodwall {
namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();
constexpr std::uint64_t kMsAYear = 31'557'600'000;

bool isNear(std::uint64_t ms, std::uint64_t exportMs) noexcept {
  return (ms > exportMs ? ms - exportMs : exportMs - ms) < 10 * kMsAYear;
}

/// Seconds since 1900 and a fraction (RFC 7011, 6.1.9), or what some exporters send: units since 1970.
std::uint64_t ntpMs(std::uint64_t value, std::uint64_t unitsAMs, std::uint64_t exportMs) noexcept {
  constexpr std::uint64_t kSeconds1900To1970 = 2'208'988'800;
  const std::uint64_t seconds = value >> 32;
  const std::uint64_t fraction = (value & 0xffffffff) * 1000 >> 32;
  const std::uint64_t ntp = seconds >= kSeconds1900To1970 ? (seconds - kSeconds1900To1970) * 1000 + fraction : 0;
  return !isNear(ntp, exportMs) && isNear(value / unitsAMs, exportMs) ? value / unitsAMs : ntp;
}

/// How long before the export that was, in ms; kUnknown if that is not known.
std::int64_t agoMs(TimeForm form, std::uint64_t value, const MessageTimes& times) noexcept {
  const auto since = [&](std::uint64_t ms) {
    return isNear(ms, times.exportMs) ? static_cast<std::int64_t>(times.exportMs - ms) : kUnknown;
  };
  if (value == 0) return kUnknown;
  switch (form) {
    case TimeForm::none:
      return kUnknown;
    case TimeForm::deltaUs:
      return static_cast<std::int64_t>(value / 1000);
    case TimeForm::seconds:
      return value < kMsAYear ? since(value * 1000) : kUnknown;
    case TimeForm::uptimeMs:
      if (!times.hasUptime) return kUnknown;
      return static_cast<std::int32_t>(times.uptimeMs - static_cast<std::uint32_t>(value));
    case TimeForm::eventMs:
    case TimeForm::ms:
      return since(value);
    case TimeForm::us:
      return since(ntpMs(value, 1000, times.exportMs));
    case TimeForm::ns:
      return since(ntpMs(value, 1'000'000, times.exportMs));
  }
  return kUnknown;
}

std::uint32_t clamped(std::int64_t ms) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ms, 0, std::numeric_limits<std::uint32_t>::max()));
}

FlowTimes mixedTimesOf(const RecordLayout& layout, const SlotValues& values, const MessageTimes& times) noexcept {
  std::int64_t started = agoMs(layout.start, values[Slot::start], times);
  std::int64_t ended = agoMs(layout.end, values[Slot::end], times);
  std::int64_t duration = kUnknown;
  if (layout.has(Slot::durationMs)) {
    duration = clamped(static_cast<std::int64_t>(std::min<std::uint64_t>(values[Slot::durationMs], kMsAYear)));
  } else if (layout.has(Slot::durationUs)) {
    duration = clamped(static_cast<std::int64_t>(std::min(values[Slot::durationUs] / 1000, kMsAYear)));
  }
  if (ended == kUnknown && started != kUnknown && duration != kUnknown) ended = started - duration;
  if (duration == kUnknown && started != kUnknown && ended != kUnknown) duration = started - ended;
  FlowTimes found{duration == kUnknown ? 0 : clamped(duration), ended == kUnknown ? 0 : clamped(ended), 0};
  if (ended == kUnknown || duration == kUnknown) return found;
  found.startMs = static_cast<std::int64_t>(times.exportMs) - ended - found.durationMs;
  return found;
}

}  // namespace

FlowTimes timesOf(const RecordLayout& layout, const SlotValues& values, const MessageTimes& times) noexcept {
  FlowTimes found;
  if (layout.start == TimeForm::uptimeMs && layout.end == TimeForm::uptimeMs) {
    found = uptimesOf(values.u32(Slot::start), values.u32(Slot::end), times);
  } else if (layout.start != TimeForm::none || layout.end != TimeForm::none || layout.has(Slot::durationMs) ||
             layout.has(Slot::durationUs)) {
    found = mixedTimesOf(layout, values, times);
  }
  found.ageMs += std::min(times.waitedMs, std::numeric_limits<std::uint32_t>::max() - found.ageMs);
  return found;
}

}  // namespace floodwall
