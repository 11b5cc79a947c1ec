#include "count/samples.h"

#include <algorithm>
#include <bit>

#include "count/kept_header.h"

namespace floodwall {
namespace {

constexpr std::uint64_t kRoundsDrawn = 4;

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
  const auto words = std::bit_cast<std::array<std::uint64_t, kWords>>(sample);
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
  sample = std::bit_cast<Sample>(words);
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
