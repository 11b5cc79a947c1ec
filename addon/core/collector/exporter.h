// One exporter as a receiver knows it: the rule that holds for it, its decoder, and which of its records count.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/address.h"
#include "collector/exporter_rules.h"
#include "collector/flow_limits.h"
#include "collector/interface_table.h"
#include "collector/record_age.h"
#include "collector/report_interval.h"
#include "collector/saved_exporters.h"
#include "count/flow_record.h"
#include "flow/flow_exporter.h"

namespace floodwall {

/// ExporterStatus of native-flow.d.ts.
struct ExporterStatus {
  Address address;
  /// As records name it.
  std::uint16_t number = 0;
  /// ExporterRules::kNone without rules.
  std::uint32_t rule = ExporterRules::kNone;
  std::uint32_t configuredRate = 0;
  std::uint64_t counted = 0;
  std::array<std::uint64_t, kLeftOuts> leftOut{};
  /// Late records that counted when they came; see RecordAge.
  std::uint64_t countedLate = 0;
  /// The longest time between two records of a flow whose start time stays; 0: it has none, see ReportInterval.
  std::uint32_t reportIntervalMs = 0;
  bool isActive = true;
  /// By the monotonic clock.
  std::uint64_t lastDatagramMs = 0;
  FlowExporterStatus flow;
  std::vector<InterfaceUse> interfaces;
  /// The fault that the operator should mend; empty: none.
  [[nodiscard]] std::string error() const;
  /// Records of unknown sampling rate came in the last minute of its datagrams.
  bool isRateUnknown = false;
};

/// For one thread at a time.
class Exporter {
 public:
  Exporter(const Address& address, std::uint16_t number) : address_(address), number_(number) {}

  /// `rules` live as long as the rule holds.
  void setRule(const ExporterRules& rules, std::uint32_t rule);
  /// Times of the monotonic clock, and of the wall. Returns the steps that it took (flow_work.h).
  std::uint64_t decode(const FlowDatagram& datagram, std::uint64_t nowMs, std::uint64_t wallMs, RecordSink& sink);
  /// Call it now and then: what a silent one never sent is lost then.
  void settle(std::uint64_t nowMs, std::uint64_t wallMs);
  /// Completes records and returns those that count, in the place of the first ones.
  [[nodiscard]] std::span<FlowRecord> judge(std::span<FlowRecord> records);
  /// Whether one of the records that counted last names two packets, of which one is to be chosen.
  [[nodiscard]] bool hasTunnels() const noexcept { return hasTunnels_; }

  [[nodiscard]] const Address& address() const noexcept { return address_; }
  [[nodiscard]] std::uint16_t number() const noexcept { return number_; }
  /// The number that records and statuses name it by; 0 stands for none.
  [[nodiscard]] std::uint16_t name() const noexcept { return static_cast<std::uint16_t>(number_ + 1); }
  [[nodiscard]] std::uint64_t lastDatagramMs() const noexcept { return lastDatagramMs_; }
  [[nodiscard]] Encapsulations decapsulated() const noexcept { return rule_->decapsulated; }
  [[nodiscard]] std::uint32_t rule() const noexcept { return ruleNumber_; }
  /// Whether its rule is for its address alone.
  [[nodiscard]] bool isNamed() const noexcept { return rule_->length == 128 && ruleNumber_ != ExporterRules::kNone; }
  /// Whether something came since the status was taken.
  [[nodiscard]] bool isChanged() const noexcept { return isChanged_; }
  void statusInto(ExporterStatus& status);

  /// Takes its state of before a restart of this service, before its first datagram.
  void restore(ByteSpan bytes);
  /// Whether something new came a second ago or more, or anything a minute ago or more, that is to be kept.
  [[nodiscard]] bool mustSave(std::uint64_t nowMs) const noexcept;
  /// Times of the monotonic clock, and of the wall.
  void saveInto(SavedExporter& saved, std::uint64_t nowMs, std::uint64_t wallMs);

 private:
  static constexpr std::uint64_t kRateUnknownMs = 60'000;

  void refresh(std::uint64_t nowMs);
  void complete(FlowRecord& record) noexcept;
  [[nodiscard]] bool isLate(FlowRecord& record) noexcept;
  [[nodiscard]] bool isLeftOut(FlowRecord& record, InterfaceRole in, InterfaceRole out) noexcept;
  bool leaveOut(LeftOut reason) noexcept;

  Address address_;
  std::uint16_t number_;
  bool isActive_ = true;
  bool isChanged_ = true;
  bool isRateUnknown_ = false;
  bool isSettled_ = false;
  bool hasTunnels_ = false;
  const ExporterRules* rules_ = nullptr;
  const ExporterRule* rule_ = &ExporterRules::unlisted();
  std::uint32_t ruleNumber_ = ExporterRules::kNone;
  std::uint32_t namesVersion_ = 0;
  std::uint64_t lastDatagramMs_ = 0;
  std::uint64_t refreshedMs_ = 0;
  /// When it last reported traffic to its site.
  std::uint64_t presentMs_ = 0;
  /// Records since then.
  std::uint64_t unreported_ = 0;
  /// When it was saved last, and what of its decoder.
  std::uint64_t savedMs_ = 0;
  std::uint64_t savedVersion_ = 0;
  std::uint64_t rateUnknownMs_ = 0;
  std::uint64_t counted_ = 0;
  std::uint64_t countedLate_ = 0;
  std::array<std::uint64_t, kLeftOuts> leftOut_{};
  RecordAge ages_;
  InterfaceTable interfaces_;
  ReportInterval reports_;
  FlowExporter decoder_;
};

}  // namespace floodwall
