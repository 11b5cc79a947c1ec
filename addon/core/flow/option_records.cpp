// Records of options: sampling rates, names of interfaces, when the exporter began.
#include "flow/record_maker.h"
#include "flow/sampling_rules.h"

namespace floodwall {

void RecordMaker::readOptions(const RecordLayout& layout, const std::uint8_t* record) {
  state_.counts.otherRecords++;
  if (layout_ != &layout || template_.isVariable) values_.clear();
  layout_ = &layout;
  values_.load(layout, record);
  const bool hasScope = layout_->has(Slot::scopeInterface);
  const auto interface = values_.u32(hasScope ? Slot::scopeInterface : Slot::input);
  // Without a number it is the name of something else, as of a sampler.
  if (hasScope || layout_->has(Slot::input)) readName(interface, record);
  if (layout_->has(Slot::systemInitMs)) setSystemInit(values_[Slot::systemInitMs]);
  if (template_.hasRate) readRate(interface);
}

/// IPFIX shows a restart on the same port by two things together: numbers began again, and the system did. Either alone
/// is none: some count again from zero now and then, and a clock that is set changes when the system is said to have
/// begun.
void RecordMaker::setSystemInit(std::uint64_t beganMs) {
  constexpr std::uint64_t kLaterMs = 10'000;
  const bool isLater = domain_.systemInitMs != 0 && beganMs > domain_.systemInitMs + kLaterMs;
  if (isLater && domain_.beganAgainMs != 0) {
    state_.domains.forgetTemplatesBefore(domain_, domain_.beganAgainMs, template_.id);
    state_.lastingVersion++;
  }
  if (isLater) domain_.beganAgainMs = 0;
  domain_.systemInitMs = beganMs;
}

void RecordMaker::readName(std::uint32_t interface, const std::uint8_t* record) {
  const PartField name = layout_->part(layout_->part(Part::name).length != 0 ? Part::name : Part::description);
  if (name.length == 0) return;
  noteChange(state_.interfaces.set(interface, {record + name.offset, name.length}, changesLeft_ != 0, nowMs_));
}

void RecordMaker::readRate(std::uint32_t interface) {
  const SaidRate said = rateIn(*layout_, values_, RatePlace::options);
  if (said.isImpossible) state_.counts.impossibleRates++;
  if (said.rate == 0) return;
  SamplingTable::Said rate{
      .scope = scopeOf(*layout_, interface != 0), .rate = said.rate, .by = saidBy(domain_, template_)};
  if (rate.scope == SamplingScope::sampler) {
    rate.id = values_[layout_->has(Slot::sampler) ? Slot::sampler : Slot::selector];
  } else if (rate.scope == SamplingScope::interface) {
    rate.id = interface;
  } else if (rate.scope == SamplingScope::flowTemplate) {
    rate.id = values_[Slot::scopeTemplate];
  } else if (rate.scope == SamplingScope::part) {
    rate.id = partIn(*layout_, values_);
  }
  // The domain 0 may report of another one, which is the scope then (element 149).
  DomainKey domain = domain_.key;
  if (domain.number == 0) domain.number = values_.u32(Slot::scopeDomain);
  noteChange(state_.samplings.set(domain, rate, changesLeft_ != 0, nowMs_));
}

void RecordMaker::endOptions() {
  if (refusedChanges_ == 0) return;
  state_.undecoded.count(UndecodedKind::bound, domain_.key.number, template_.id, 0, refusedChanges_);
}

template <typename Stored>
void RecordMaker::noteChange(Stored stored) {
  if (stored == Stored::same) return;
  if (stored == Stored::refused) {
    refusedChanges_++;
    return;
  }
  state_.work += kOptionChangeWork;
  state_.lastingVersion++;
  changesLeft_--;
}

}  // namespace floodwall
