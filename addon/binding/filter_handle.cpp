#include "filter_handle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "arguments.h"
#include "base/boot_clock.h"
#include "constants.h"
#include "engine_handle.h"
#include "errors.h"
#include "filter/pinned_filter.h"
#include "filter_rows.h"
#include "forward_rows.h"
#include "named_sets_handle.h"
#include "promise_worker.h"

namespace floodwall::binding {
namespace {

constexpr napi_type_tag kFilterTag = {0x4f0d6b7c21e94a35, 0x8c5e93b1f27a604d};

std::uint32_t boundOf(const Napi::Object& options, const char* key, std::uint32_t most = kFilterEntriesMax) {
  const std::uint32_t bound = uint32Of(options, key);
  if (bound >= 1 && bound <= most) return bound;
  throw Napi::RangeError::New(options.Env(), std::string(key) + " must be from 1 to " + std::to_string(most));
}

std::vector<std::string> interfacesOf(const Napi::Object& options) {
  const Napi::Value value = options.Get("interfaces");
  if (!value.IsArray()) throw Napi::TypeError::New(options.Env(), "interfaces must be an array");
  const auto array = value.As<Napi::Array>();
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value name = array[i];
    if (!name.IsString()) throw Napi::TypeError::New(options.Env(), "interfaces must be strings");
    names.push_back(name.As<Napi::String>().Utf8Value());
  }
  return names;
}

}  // namespace

Napi::Function FilterHandle::define(const Napi::Env& env) {
  return DefineClass(
      env, "Filter",
      {InstanceMethod<&FilterHandle::attach>("attach"), InstanceMethod<&FilterHandle::putPairs>("putPairs"),
       InstanceMethod<&FilterHandle::removePairs>("removePairs"), InstanceMethod<&FilterHandle::readPairs>("readPairs"),
       InstanceMethod<&FilterHandle::readPairsOf>("readPairsOf"), InstanceMethod<&FilterHandle::setRules>("setRules"),
       InstanceMethod<&FilterHandle::readRules>("readRules"),
       InstanceMethod<&FilterHandle::watchDestinations>("watchDestinations"),
       InstanceMethod<&FilterHandle::readOutcomes>("readOutcomes"),
       InstanceMethod<&FilterHandle::setAllowlist>("setAllowlist"),
       InstanceMethod<&FilterHandle::setWhitelist>("setWhitelist"),
       InstanceMethod<&FilterHandle::setNamedSets>("setNamedSets"),
       InstanceMethod<&FilterHandle::exchangeNamedSets>("exchangeNamedSets"),
       InstanceMethod<&FilterHandle::setForwardNetworks>("setForwardNetworks"),
       InstanceMethod<&FilterHandle::status>("status"), InstanceMethod<&FilterHandle::drops>("drops"),
       InstanceMethod<&FilterHandle::close>("close")});
}

FilterHandle::FilterHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<FilterHandle>(info) {
  const Napi::Object options = objectArgument(info, 0, "options");
  KernelFilterOptions parsed{.pinPath = stringOf(options, "pinPath"),
                             .interfaces = interfacesOf(options),
                             .xdpMode = static_cast<XdpMode>(choiceOf(options, "xdpMode", kXdpModes)),
                             .shape = {.pairsMax = boundOf(options, "maxPairs"),
                                       .rulesMax = boundOf(options, "maxRules"),
                                       .prefixesMax = boundOf(options, "maxPrefixes"),
                                       .sourcesMax = boundOf(options, "maxSources", kFilterSourcesMax)},
                             .forward = forwardOf(options, "forward")};
  filter_ = guarded(info.Env(), [&] { return std::make_shared<KernelFilter>(std::move(parsed)); });
  Value().TypeTag(&kFilterTag);
}

std::shared_ptr<KernelFilter> FilterHandle::unwrap(const Napi::Value& value) {
  if (value.IsNull() || value.IsUndefined()) return nullptr;
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&kFilterTag)) {
    throw Napi::TypeError::New(value.Env(), "filter must be null or a filter of the addon");
  }
  auto filter = Unwrap(value.As<Napi::Object>())->filter_;
  if (!filter) throwClosed(value.Env(), "filter");
  return filter;
}

KernelFilter& FilterHandle::filter(const Napi::CallbackInfo& info) const {
  requireTag(info, kFilterTag, "filter");
  if (!filter_) throwClosed(info.Env(), "filter");
  return *filter_;
}

void FilterHandle::attach(const Napi::CallbackInfo& info) {
  KernelFilter& core = filter(info);
  guarded(info.Env(), [&] { core.attach(); });
}

void FilterHandle::putPairs(const Napi::CallbackInfo& info) {
  KernelFilter& core = filter(info);
  const auto pairs = pairsOf(info.Env(), bytesArgument(info, 0, "addresses"));
  const auto expiries = expiriesOf(info.Env(), doublesArgument(info, 1, "expiresAtMs"), pairs.size());
  guarded(info.Env(), [&] { core.putPairs(pairs, expiries); });
}

void FilterHandle::removePairs(const Napi::CallbackInfo& info) {
  KernelFilter& core = filter(info);
  const auto pairs = pairsOf(info.Env(), bytesArgument(info, 0, "addresses"));
  guarded(info.Env(), [&] { core.removePairs(pairs); });
}

Napi::Value FilterHandle::readPairs(const Napi::CallbackInfo& info) {
  const KernelFilter& core = filter(info);
  const Napi::Env env = info.Env();
  if (!info[0].IsNumber()) throw Napi::TypeError::New(env, "cursor must be a number");
  const auto addresses = bytesArgument(info, 1, "addresses");
  const auto counts = doublesArgument(info, 2, "rows");
  const std::size_t most = std::min(addresses.size() / kPairBytes, counts.size() / kPairColumns);
  std::size_t count = 0;
  const auto next = guarded(env, [&] {
    return core.readPairs(
        info[0].As<Napi::Number>().Uint32Value(), most,
        [&](const PairKey& pair, std::uint64_t expiresAtNs, const filter_count& hits) {
          std::memcpy(addresses.data() + count * kPairBytes, &pair, kPairBytes);
          const std::array<double, kPairColumns> row = {
              wallMsFromBootNs(expiresAtNs), static_cast<double>(hits.packets), static_cast<double>(hits.bytes)};
          std::copy(row.begin(), row.end(), counts.begin() + static_cast<std::ptrdiff_t>(count * kPairColumns));
          count++;
        });
  });
  Napi::Object object = Napi::Object::New(env);
  object.Set("next", static_cast<double>(next));
  object.Set("count", static_cast<double>(count));
  return object;
}

void FilterHandle::readPairsOf(const Napi::CallbackInfo& info) {
  const KernelFilter& core = filter(info);
  const auto pairs = pairsOf(info.Env(), bytesArgument(info, 0, "addresses"));
  const auto rows = doublesArgument(info, 1, "rows");
  const std::size_t most = std::min(pairs.size(), rows.size() / kPairColumns);
  guarded(info.Env(), [&] {
    for (std::size_t i = 0; i < most; i++) {
      const auto row = rows.subspan(i * kPairColumns, kPairColumns);
      const auto found = core.readPair(pairs[i]);
      if (!found) {
        std::ranges::fill(row, std::numeric_limits<double>::quiet_NaN());
        continue;
      }
      row[0] = wallMsFromBootNs(found->expiresAtNs);
      row[1] = static_cast<double>(found->hits.packets);
      row[2] = static_cast<double>(found->hits.bytes);
    }
  });
}

void FilterHandle::setRules(const Napi::CallbackInfo& info) {
  KernelFilter& core = filter(info);
  const auto rules = rulesOf(info.Env(), info[0], bytesArgument(info, 1, "rules"), bytesArgument(info, 2, "details"));
  const auto entries = operatorEntriesOf(info.Env(), bytesArgument(info, 3, "operatorEntries"), rules.size());
  guarded(info.Env(), [&] { core.setRules(rules, entries); });
}

Napi::Value FilterHandle::readRules(const Napi::CallbackInfo& info) {
  const KernelFilter& core = filter(info);
  return rulesObject(info.Env(), guarded(info.Env(), [&] { return core.readRules(); }));
}

void FilterHandle::watchDestinations(const Napi::CallbackInfo& info) {
  KernelFilter& core = filter(info);
  const auto bytes = bytesArgument(info, 0, "addresses");
  std::vector<ip_address> destinations(bytes.size() / sizeof(ip_address));
  std::memcpy(destinations.data(), bytes.data(), destinations.size() * sizeof(ip_address));
  guarded(info.Env(), [&] { core.watch(destinations); });
}

void FilterHandle::readOutcomes(const Napi::CallbackInfo& info) {
  const KernelFilter& core = filter(info);
  const auto counts = doublesArgument(info, 0, "counts");
  const auto rows = guarded(info.Env(), [&] { return core.readOutcomes(); });
  const std::size_t most = std::min(rows.size(), counts.size() / kOutcomeColumns);
  for (std::size_t i = 0; i < most; i++) {
    const auto to = counts.subspan(i * kOutcomeColumns, kOutcomeColumns);
    for (std::size_t outcome = 0; outcome < OUTCOMES; outcome++) {
      const filter_count& count = rows[i].row.outcomes[outcome];
      to[2 * outcome] = rows[i].isWatched ? static_cast<double>(count.packets) : std::nan("");
      to[2 * outcome + 1] = rows[i].isWatched ? static_cast<double>(count.bytes) : std::nan("");
    }
  }
}

void FilterHandle::setList(const Napi::CallbackInfo& info, filter_set_kind list) {
  KernelFilter& core = filter(info);
  auto prefixes = prefixesOf(info.Env(), bytesArgument(info, 0, "addresses"), bytesArgument(info, 1, "lengths"));
  guarded(info.Env(), [&] { core.setList(list, std::move(prefixes)); });
}

void FilterHandle::setAllowlist(const Napi::CallbackInfo& info) { setList(info, FILTER_ALLOWLIST); }

void FilterHandle::setWhitelist(const Napi::CallbackInfo& info) { setList(info, FILTER_WHITELIST); }

void FilterHandle::setNamedSets(const Napi::CallbackInfo& info) {
  KernelFilter& core = filter(info);
  auto sets = NamedSetsHandle::unwrap(info[0]);
  guarded(info.Env(), [&] { core.setNamedSets(std::move(sets)); });
}

Napi::Value FilterHandle::exchangeNamedSets(const Napi::CallbackInfo& info) {
  filter(info);
  return PromiseWorker<bool>::start(
      info.Env(),
      [core = filter_, sets = NamedSetsHandle::unwrap(info[0])] {
        core->setNamedSets(sets);
        return true;
      },
      [](const Napi::Env& env, const bool&) { return env.Undefined(); });
}

void FilterHandle::setForwardNetworks(const Napi::CallbackInfo& info) {
  KernelFilter& core = filter(info);
  std::optional<std::vector<SetPrefix>> networks;
  if (!info[0].IsNull()) {
    networks = prefixesOf(info.Env(), bytesArgument(info, 0, "addresses"), bytesArgument(info, 1, "lengths"));
  }
  guarded(info.Env(), [&] { core.setForwardNetworks(networks); });
}

Napi::Value FilterHandle::status(const Napi::CallbackInfo& info) {
  const KernelFilter& core = filter(info);
  return statusObject(info.Env(), guarded(info.Env(), [&] { return core.status(); }));
}

Napi::Value FilterHandle::drops(const Napi::CallbackInfo& info) {
  const KernelFilter& core = filter(info);
  const auto frame = bytesArgument(info, 0, "frame");
  return Napi::Boolean::New(info.Env(), guarded(info.Env(), [&] { return core.drops(frame); }));
}

void FilterHandle::close(const Napi::CallbackInfo& info) {
  requireTag(info, kFilterTag, "filter");
  const std::string end = info[0].IsString() ? info[0].As<Napi::String>().Utf8Value() : std::string();
  if (end != kFilterEnds[0] && end != kFilterEnds[1])
    throw Napi::TypeError::New(info.Env(), "end must be keep or detach");
  if (!filter_) return;
  filter_->close(end == kFilterEnds[0]);
  filter_.reset();
}

Napi::Value readPinnedFilter(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsString()) throw Napi::TypeError::New(env, "pinPath must be a string");
  const PinnedFilter found = guarded(env, [&] { return readPinned(info[0].As<Napi::String>().Utf8Value()); });
  Napi::Array schemas = Napi::Array::New(env);
  for (std::uint32_t i = 0; i < found.schemas.size(); i++) schemas.Set(i, found.schemas[i]);
  Napi::Array links = Napi::Array::New(env);
  for (std::uint32_t i = 0; i < found.links.size(); i++) {
    Napi::Object link = Napi::Object::New(env);
    link.Set("name", found.links[i].interface);
    link.Set("program", found.links[i].program);
    links.Set(i, link);
  }
  Napi::Array namedSets = Napi::Array::New(env);
  for (std::uint32_t bit = 0; bit < NAMED_SETS_MAX; bit++) namedSets.Set(bit, found.setNames.at(bit));
  Napi::Object object = Napi::Object::New(env);
  object.Set("state", kPinnedStates.at(static_cast<std::size_t>(found.state)));
  object.Set("schemas", schemas);
  object.Set("links", links);
  object.Set("pairs", found.pairs);
  object.Set("rules", found.rules);
  object.Set("namedSets", namedSets);
  object.Set("verdicts", verdictsObject(env, found.stats));
  object.Set("forward", found.forward ? forwardObject(env, *found.forward) : env.Null());
  object.Set("isOwned", found.isOwned);
  return object;
}

}  // namespace floodwall::binding
