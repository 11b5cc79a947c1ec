// What records of options tell: sampling rates, names of interfaces, when the exporter began.
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
  if (layout_->has(Slot::systemInitMs)) domain_.systemInitMs = values_[Slot::systemInitMs];
  if (template_.hasRate) readRate(interface);
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
  SamplingTable::Said rate{.rate = said.rate};
  if (layout_->has(Slot::sampler) || layout_->has(Slot::selector)) {
    rate.scope = SamplingScope::sampler;
    rate.id = values_[layout_->has(Slot::sampler) ? Slot::sampler : Slot::selector];
  } else if (interface != 0) {
    rate.scope = SamplingScope::interface;
    rate.id = interface;
  } else if (layout_->has(Slot::scopeTemplate)) {
    rate.scope = SamplingScope::flowTemplate;
    rate.id = values_[Slot::scopeTemplate];
  }
  noteChange(state_.samplings.set(domain_.key, rate, changesLeft_ != 0, nowMs_));
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
