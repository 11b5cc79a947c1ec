// The inline counter that filters, and the samples that it takes.
#pragma once

#include <bpf/libbpf.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "inline_box.h"

namespace floodwall::test {

class SampledBox : public InlineBox {
 public:
  /// `filter` may be null: then the program judges nothing.
  explicit SampledBox(const FilterMaps* filter, std::uint32_t every = 1)
      : InlineBox({.maxHosts = 1U << 12, .sampleEvery = every, .filter = filter}),
        ring_(ring_buffer__new(program.samplesFd(), keep, &samples_, nullptr), ring_buffer__free) {
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

  /// The samples since the last call.
  std::vector<inline_sample> take() {
    samples_.clear();
    ring_buffer__consume(ring_.get());
    return samples_;
  }

 private:
  static int keep(void* samples, void* data, std::size_t) {
    static_cast<std::vector<inline_sample>*>(samples)->push_back(*static_cast<const inline_sample*>(data));
    return 0;
  }

  std::vector<inline_sample> samples_;
  std::unique_ptr<ring_buffer, decltype(&ring_buffer__free)> ring_;
};

}  // namespace floodwall::test
