#include "collector/exporter.h"

#include <algorithm>

#include "base/address_text.h"
#include "collector/plausibility.h"
#include "flow/sequence_tracker.h"

namespace floodwall {
namespace {

/// How often is looked whether another exporter of the site counts, or names of interfaces have changed.
constexpr std::uint64_t kRefreshMs = 100;

}  // namespace

std::string ExporterStatus::error() const {
  if (!isRateUnknown) return {};
  return "sampling rate of exporter " + textOf(address) +
         " is not known and taken as 1: set its sampling_rate, or let it send its options of sampling";
}

void Exporter::setRule(const ExporterRules& rules, std::uint32_t rule) {
  rules_ = &rules;
  ruleNumber_ = rule;
  rule_ = rule == ExporterRules::kNone ? &ExporterRules::unlisted() : &rules[rule];
  interfaces_.setRoles(*rule_, decoder_);
  decoder_.setDecapsulation(rule_->decapsulated);
  refreshedMs_ = 0;
  presentMs_ = 0;
  isChanged_ = true;
}

std::uint64_t Exporter::decode(const FlowDatagram& datagram, std::uint64_t nowMs, std::uint64_t wallMs,
                               RecordSink& sink) {
  lastDatagramMs_ = nowMs;
  isChanged_ = true;
  isSettled_ = false;
  if (nowMs - refreshedMs_ >= kRefreshMs) refresh(nowMs);
  const std::uint64_t before = decoder_.work();
  decoder_.decode(datagram, wallMs, sink);
  return decoder_.work() - before;
}

void Exporter::settle(std::uint64_t nowMs, std::uint64_t wallMs) {
  if (isSettled_ || nowMs <= lastDatagramMs_ + SequenceTracker::kReorderMs) return;
  isSettled_ = true;
  isChanged_ = true;
  decoder_.settle(wallMs);
}

void Exporter::refresh(std::uint64_t nowMs) {
  refreshedMs_ = nowMs;
  isActive_ = ruleNumber_ == ExporterRules::kNone || rules_->isActive(ruleNumber_, nowMs);
  isRateUnknown_ = rateUnknownMs_ != 0 && nowMs - rateUnknownMs_ < kRateUnknownMs;
  if (decoder_.interfaceNamesVersion() == namesVersion_) return;
  namesVersion_ = decoder_.interfaceNamesVersion();
  interfaces_.setRoles(*rule_, decoder_);
}

std::span<FlowRecord> Exporter::judge(std::span<FlowRecord> records) {
  // Within a site an exporter is present only while it reports traffic: counters and templates are not enough.
  unreported_ += records.size();
  if (ruleNumber_ != ExporterRules::kNone && (presentMs_ == 0 || lastDatagramMs_ - presentMs_ >= kRefreshMs)) {
    presentMs_ = lastDatagramMs_;
    rules_->reported(ruleNumber_, lastDatagramMs_, unreported_);
    unreported_ = 0;
  }
  std::size_t kept = 0;
  hasTunnels_ = false;
  for (FlowRecord& record : records) {
    complete(record);
    if (const auto impossibility = impossibilityOf(record, rule_->fastestMbps)) {
      leaveOut(*impossibility);
      continue;
    }
    const std::uint64_t packets = record.packets * record.samplingRate, bytes = record.bytes * record.samplingRate;
    InterfaceUse& in = interfaces_.of(record.input, *rule_, decoder_);
    in.recordsIn++;
    in.packetsIn += packets;
    in.bytesIn += bytes;
    const InterfaceRole inRole = in.role;
    InterfaceUse& out = interfaces_.of(record.output, *rule_, decoder_);
    out.recordsOut++;
    out.packetsOut += packets;
    out.bytesOut += bytes;
    if (isLeftOut(record, inRole, out.role)) continue;
    record.durationMs = reports_.durationOf(record, lastDatagramMs_);
    hasTunnels_ = hasTunnels_ || record.outerBytes != 0;
    if (&records[kept] != &record) records[kept] = record;
    kept++;
  }
  counted_ += kept;
  return records.first(kept);
}

void Exporter::complete(FlowRecord& record) noexcept {
  record.exporter = name();
  if (rule_->samplingRate != 0) {
    record.samplingRate = rule_->samplingRate;
  } else if (record.samplingRate == 0) {
    record.samplingRate = 1;
    rateUnknownMs_ = lastDatagramMs_;
  }
}

bool Exporter::leaveOut(LeftOut reason) noexcept {
  leftOut_[static_cast<std::size_t>(reason)]++;
  return true;
}

/// One that counts all the same counts as if its flow went on.
bool Exporter::isLate(FlowRecord& record) noexcept {
  if (record.ageMs <= kLateRecordMs) {
    if (record.startMs != 0 || record.ageMs != 0) ages_.noteTimely(lastDatagramMs_);
    return false;
  }
  if (!ages_.countsLate(lastDatagramMs_)) return true;
  countedLate_++;
  record.ageMs = 0;
  return false;
}

bool Exporter::isLeftOut(FlowRecord& record, InterfaceRole in, InterfaceRole out) noexcept {
  if (!isActive_) return leaveOut(LeftOut::site);
  if (rule_->leavesOut(record.direction)) return leaveOut(LeftOut::direction);
  if (isLate(record)) return leaveOut(LeftOut::late);
  if (!rule_->hasRoles()) return false;
  record.countsIncoming = in == InterfaceRole::external;
  // Traffic from outside was not sent by a host of ours, whatever source it names.
  record.countsOutgoing = out == InterfaceRole::external && in != InterfaceRole::external;
  if (record.countsIncoming || record.countsOutgoing) return false;
  const bool isUnknown = in == InterfaceRole::unknown || out == InterfaceRole::unknown;
  return leaveOut(isUnknown ? LeftOut::unknownInterface : LeftOut::interface);
}

void Exporter::restore(ByteSpan bytes) {
  // Damaged parts are sent again by the exporter.
  static_cast<void>(decoder_.restore(bytes));
}

bool Exporter::mustSave(std::uint64_t nowMs) const noexcept {
  constexpr std::uint64_t kNewMs = 1000, kAgainMs = 60'000;
  const std::uint64_t sinceMs = nowMs - savedMs_;
  const bool isNew = decoder_.lastingVersion() != savedVersion_;
  return (isNew && sinceMs >= kNewMs) || (lastDatagramMs_ > savedMs_ && sinceMs >= kAgainMs);
}

void Exporter::saveInto(SavedExporter& saved, std::uint64_t nowMs, std::uint64_t wallMs) {
  savedMs_ = nowMs;
  savedVersion_ = decoder_.lastingVersion();
  saved.address = address_;
  saved.number = number_;
  saved.lastDatagramMs = wallMs - std::min(wallMs, nowMs - lastDatagramMs_);
  decoder_.saveInto(saved.bytes);
}

void Exporter::statusInto(ExporterStatus& status) {
  isChanged_ = false;
  status.address = address_;
  status.number = name();
  status.rule = ruleNumber_;
  status.configuredRate = rule_->samplingRate;
  status.counted = counted_;
  status.leftOut = leftOut_;
  status.countedLate = countedLate_;
  status.reportIntervalMs = reports_.longestMs();
  status.isActive = isActive_;
  status.lastDatagramMs = lastDatagramMs_;
  status.isRateUnknown = isRateUnknown_;
  decoder_.statusInto(status.flow);
  status.interfaces.assign(interfaces_.uses().begin(), interfaces_.uses().end());
}

}  // namespace floodwall
