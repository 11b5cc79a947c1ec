#include "count/samples.h"

#include <algorithm>
#include <cstring>

#include "count/kept_header.h"

namespace floodwall {
namespace {

constexpr std::uint64_t kRoundsDrawn = 4;
/// Beside the verdict, in its byte.
constexpr std::uint8_t kIsMade = 0x80;
static_assert(FILTER_VERDICTS < kIsMade);

}  // namespace

void Sampler::choose(std::uint64_t rest) noexcept {
  taken_++;
  // A sudden flood is met within the epoch, before adapt() has seen it.
  if (taken_ >= target_) {
    taken_ = 0;
    every_ = every_ < (1U << 30) ? every_ * 2 : every_;
  }
  // Whole rounds of what stands for very many packets choose it again and again.
  rest %= std::uint64_t{every_} * kRoundsDrawn;
  for (;;) {
    // xorshift64 (Marsaglia 2003): a gap that is uniform over [0, 2N - 2] has the mean N - 1 and follows no rhythm that
    // the traffic could have.
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    const std::uint64_t gap = random_ % (std::uint64_t{every_} * 2 - 1);
    if (gap >= rest) {
      skip_ = static_cast<std::uint32_t>(gap - rest);
      return;
    }
    rest -= gap + 1;
  }
}

void Sampler::adapt(std::uint32_t epochsPerSecond) noexcept {
  const std::uint64_t perSecond = seen_ * epochsPerSecond;
  every_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(perSecond / target_, 1, 1U << 30));
  skip_ = std::min(skip_, every_ * 2 - 2);
  seen_ = 0;
  taken_ = 0;
}

void SampleSlot::write(const Sample& sample) noexcept {
  std::array<std::uint64_t, kWords> words;
  words[0] = sample.serial;
  words[1] = std::uint64_t{sample.epoch} << 32 | std::uint64_t{sample.exporter} << 16 |
             std::uint64_t{static_cast<std::uint8_t>(sample.verdict | (sample.isMade ? kIsMade : 0))} << 8 |
             sample.captured;
  words[2] = std::uint64_t{sample.standsFor} << 32 | sample.wire;
  words[3] = std::uint64_t{sample.input} << 32 | sample.sourceAs;
  std::memcpy(&words[4], sample.data.data(), kHeaderBytes);
  const std::uint64_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_relaxed);
  // Each release keeps the odd version before the word, which is what a reader of the word then sees.
  for (std::size_t i = 0; i < kWords; i++) words_[i].store(words[i], std::memory_order_release);
  version_.store(version + 2, std::memory_order_release);
}

bool SampleSlot::read(Sample& sample) const noexcept {
  const std::uint64_t version = version_.load(std::memory_order_acquire);
  if (version == 0 || (version & 1) != 0) return false;
  std::array<std::uint64_t, kWords> words;
  for (std::size_t i = 0; i < kWords; i++) words[i] = words_[i].load(std::memory_order_acquire);
  if (version_.load(std::memory_order_relaxed) != version) return false;
  sample.serial = words[0];
  sample.epoch = static_cast<std::uint32_t>(words[1] >> 32);
  sample.captured = static_cast<std::uint8_t>(words[1]);
  const auto verdict = static_cast<std::uint8_t>(words[1] >> 8);
  sample.verdict = verdict & static_cast<std::uint8_t>(~kIsMade);
  sample.isMade = (verdict & kIsMade) != 0;
  sample.exporter = static_cast<std::uint16_t>(words[1] >> 16);
  sample.wire = static_cast<std::uint32_t>(words[2]);
  sample.standsFor = static_cast<std::uint32_t>(words[2] >> 32);
  sample.input = static_cast<std::uint32_t>(words[3] >> 32);
  sample.sourceAs = static_cast<std::uint32_t>(words[3]);
  std::memcpy(sample.data.data(), &words[4], kHeaderBytes);
  return true;
}

void SampleRings::write(std::uint32_t ring, const Frame& frame, Link link, Sample sample) noexcept {
  sample.wire = frame.wire;
  sample.captured = static_cast<std::uint8_t>(keepHeader(frame, link, sample.data));
  slots_[std::size_t{ring} * capacity_ + written_[ring]].write(sample);
  written_[ring] = written_[ring] + 1 == capacity_ ? 0 : written_[ring] + 1;
}

void SampleRings::read(std::uint32_t ring, std::vector<Sample>& out) const {
  visit(ring, [&out](std::uint32_t, const Sample& sample) { out.push_back(sample); });
}

}  // namespace floodwall
