// The inline counter that filters, and the samples that it takes.
#pragma once

#include <bpf/libbpf.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "inline_box.h"

namespace floodwall::test {

class SampledBox : public InlineBox {
 public:
  /// `filter` may be null: then the program judges nothing.
  explicit SampledBox(const FilterMaps* filter, std::uint32_t every = 1)
      : InlineBox({.maxHosts = 1U << 12, .sampleEvery = every, .filter = filter}),
        ring_(ring_buffer__new(program.samplesFd(), keep, this, nullptr), ring_buffer__free) {
    REQUIRE(ring_ != nullptr);
  }

  /// What the kernel is to do with the frame, which may come out as another.
  std::uint32_t actionOn(const Bytes& frame, int repeat = 1) const {
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame.data();
    options.data_size_in = static_cast<std::uint32_t>(frame.size());
    options.repeat = repeat;
    REQUIRE(bpf_prog_test_run_opts(program.programFd(), &options) == 0);
    return options.retval;
  }

  /// The samples since the last call; of long ones the beginning.
  std::vector<inline_sample> take() {
    samples_.clear();
    frames_.clear();
    ring_buffer__consume(ring_.get());
    return samples_;
  }
  /// What take() saw of the frames.
  [[nodiscard]] const std::vector<Bytes>& frames() const { return frames_; }

 private:
  static int keep(void* box, void* data, std::size_t bytes) {
    auto* self = static_cast<SampledBox*>(box);
    const auto* sample = static_cast<const inline_long_sample*>(data);
    REQUIRE(bytes >= offsetof(inline_long_sample, data) + sample->captured);
    inline_sample& kept = self->samples_.emplace_back();
    std::memcpy(&kept, data, std::min(sizeof kept, bytes));
    self->frames_.emplace_back(sample->data, sample->data + sample->captured);
    return 0;
  }

  std::vector<inline_sample> samples_;
  std::vector<Bytes> frames_;
  std::unique_ptr<ring_buffer, decltype(&ring_buffer__free)> ring_;
};

}  // namespace floodwall::test
