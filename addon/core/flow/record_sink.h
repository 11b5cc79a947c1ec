// Where decoders put their records: gathered in batches, handed on by one call a batch.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "count/flow_record.h"
#include "parse/frame.h"

namespace floodwall {

class RecordSink {
 public:
  /// At most kBatch records. They may be changed, and are valid during the call, as are the headers they point to.
  virtual void take(std::span<FlowRecord> records) = 0;

 protected:
  ~RecordSink() = default;
};

class RecordBatch {
 public:
  /// The sink of one datagram; none outside of it.
  void begin(RecordSink& sink) noexcept {
    sink_ = &sink;
    size_ = 0;
  }
  void end() {
    flush();
    sink_ = nullptr;
  }
  /// A record to be filled, in its first state.
  [[nodiscard]] FlowRecord& add() {
    if (size_ == kBatch) flush();
    // In its place: a temporary record would be copied.
    return *std::construct_at(&records_[size_++]);
  }
  /// Takes back the record that add() gave last.
  void drop() noexcept { size_--; }

  /// Hands on what there is, before what its headers point to goes away.
  void flush() {
    if (size_ != 0) sink_->take({records_.data(), size_});
    size_ = 0;
  }

 private:
  std::array<FlowRecord, kBatch> records_;
  std::size_t size_ = 0;
  RecordSink* sink_ = nullptr;
};

}  // namespace floodwall
