#include "baselines_handle.h"

#include <algorithm>
#include <vector>

#include "arguments.h"
#include "errors.h"
#include "learn/baseline_rows.h"
#include "prefix_sums_handle.h"

namespace floodwall::binding {
namespace {

constexpr napi_type_tag kBaselinesTag = {0x2c8e51b07f9d4a36, 0xb1d740e6c35a9f82};

std::vector<LearnedGroup> groupsOf(const Napi::Value& value) {
  if (!value.IsArray()) throw Napi::TypeError::New(value.Env(), "groups must be an array");
  const auto array = value.As<Napi::Array>();
  std::vector<LearnedGroup> groups;
  for (std::uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value element = array[i];
    if (!element.IsObject()) throw Napi::TypeError::New(value.Env(), "groups must be objects");
    const auto object = element.As<Napi::Object>();
    LearnedGroup group{.isWhole = booleanOf(object, "isWhole"), .rule = {}};
    if (const Napi::Value of = object.Get("rule"); of.IsObject()) {
      const auto rule = of.As<Napi::Object>();
      const auto floor = doublesOf(rule, "floor");
      if (floor.size() != kBaseTrio) throw Napi::RangeError::New(value.Env(), "floor must have three rates");
      group.rule = {.warmupSeconds = doubleOf(rule, "warmupSeconds"),
                    .halfLifeSeconds = doubleOf(rule, "halfLifeSeconds"),
                    .factor = doubleOf(rule, "factor"),
                    .floor = {floor[0], floor[1], floor[2]},
                    .isSeasonal = booleanOf(rule, "isSeasonal")};
    }
    groups.push_back(group);
  }
  return groups;
}

/// From a file: another build or a hand may have written it.
std::uint32_t directionsArgument(const Napi::CallbackInfo& info, std::size_t index) {
  const std::uint32_t directions = uint32Argument(info, index, "directions");
  if (directions != 1 && directions != 2) throw Napi::RangeError::New(info.Env(), "directions must be 1 or 2");
  return directions;
}

}  // namespace

Napi::Function BaselinesHandle::define(const Napi::Env& env) {
  return DefineClass(
      env, "Baselines",
      {InstanceMethod<&BaselinesHandle::setGroups>("setGroups"),
       InstanceMethod<&BaselinesHandle::addSeasons>("addSeasons"),
       InstanceMethod<&BaselinesHandle::beginPass>("beginPass"),
       InstanceMethod<&BaselinesHandle::setSpared>("setSpared"),
       InstanceMethod<&BaselinesHandle::learnRows>("learnRows"), InstanceMethod<&BaselinesHandle::learn>("learn"),
       InstanceMethod<&BaselinesHandle::read>("read"), InstanceMethod<&BaselinesHandle::stats>("stats"),
       InstanceMethod<&BaselinesHandle::copyRows>("copyRows"), InstanceMethod<&BaselinesHandle::takeRows>("takeRows"),
       InstanceMethod<&BaselinesHandle::seasonRows>("seasonRows"),
       InstanceMethod<&BaselinesHandle::copySeasons>("copySeasons"),
       InstanceMethod<&BaselinesHandle::takeSeasons>("takeSeasons"), InstanceMethod<&BaselinesHandle::close>("close")});
}

BaselinesHandle::BaselinesHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<BaselinesHandle>(info) {
  const Napi::Object options = objectArgument(info, 0, "options");
  const std::uint32_t capacity = uint32Of(options, "capacity"), directions = uint32Of(options, "directions");
  if (capacity == 0 || capacity >= kIndexRowsMax) {
    throw Napi::RangeError::New(info.Env(), "capacity must be 1 to " + std::to_string(kIndexRowsMax - 1));
  }
  if (directions != 1 && directions != 2) throw Napi::RangeError::New(info.Env(), "directions must be 1 or 2");
  learner_ = guarded(info.Env(), [&] { return std::make_shared<HostLearner>(capacity, directions); });
  Value().TypeTag(&kBaselinesTag);
}

std::shared_ptr<HostLearner> BaselinesHandle::unwrap(const Napi::Value& value) {
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&kBaselinesTag)) {
    throw Napi::TypeError::New(value.Env(), "baselines must be baselines of the addon");
  }
  auto learner = Unwrap(value.As<Napi::Object>())->learner_;
  if (!learner) throwClosed(value.Env(), "baselines");
  return learner;
}

HostLearner& BaselinesHandle::learner(const Napi::CallbackInfo& info) const {
  requireTag(info, kBaselinesTag, "baselines");
  if (!learner_) throwClosed(info.Env(), "baselines");
  return *learner_;
}

void BaselinesHandle::setGroups(const Napi::CallbackInfo& info) {
  HostLearner& core = learner(info);
  core.setGroups(groupsOf(info[0]));
}

void BaselinesHandle::addSeasons(const Napi::CallbackInfo& info) {
  HostLearner& core = learner(info);
  const std::uint32_t hosts = uint32Argument(info, 0, "hosts"), groups = uint32Argument(info, 1, "groups");
  guarded(info.Env(), [&] { core.withTable([&](BaselineTable& table) { table.addSeasons(hosts, groups); }); });
}

void BaselinesHandle::beginPass(const Napi::CallbackInfo& info) {
  HostLearner& core = learner(info);
  const Napi::Object pass = objectArgument(info, 0, "pass");
  core.beginPass({.moment = {.nowSeconds = uint32Of(pass, "nowSeconds"), .seconds = doubleOf(pass, "seconds")},
                  .hour = {.hour = uint32Of(pass, "hour"), .intoSeconds = doubleOf(pass, "intoSeconds")},
                  .idleSeconds = uint32Of(pass, "idleSeconds"),
                  .windowMs = doubleOf(pass, "windowMs")});
}

void BaselinesHandle::setSpared(const Napi::CallbackInfo& info) {
  HostLearner& core = learner(info);
  const auto attackedIn = bytesArgument(info, 0, "attackedIn"), attackedOut = bytesArgument(info, 1, "attackedOut");
  const auto banned = bytesArgument(info, 2, "banned"), lengths = bytesArgument(info, 3, "lengths");
  guarded(info.Env(),
          [&] { core.setSpared(std::make_shared<const SparedHosts>(attackedIn, attackedOut, banned, lengths)); });
}

void BaselinesHandle::learnRows(const Napi::CallbackInfo& info) {
  HostLearner& core = learner(info);
  const HostColumns rows = hostRowsArgument(info, 0);
  const std::uint32_t count = uint32Argument(info, 1, "count");
  if (count > rows.groups.size()) throw Napi::RangeError::New(info.Env(), "count must be of rows that there are");
  const auto sums = PrefixSumsHandle::unwrapOrNull(info[2]);
  guarded(info.Env(), [&] { core.learnRows(rows, count, sums.get()); });
}

void BaselinesHandle::learn(const Napi::CallbackInfo& info) {
  HostLearner& core = learner(info);
  const Address key = addressArgument(info, 0);
  const std::uint32_t group = uint32Argument(info, 1, "group"), side = uint32Argument(info, 2, "side");
  const auto rates = doublesArgument(info, 3, "rates");
  if (rates.size() < kBaseTrio) throw Napi::RangeError::New(info.Env(), "rates must be the base trio");
  const LearningMoment moment{.nowSeconds = uint32Argument(info, 4, "nowSeconds"),
                              .seconds = doubleArgument(info, 5, "seconds")};
  guarded(info.Env(), [&] { core.learn(key, group, side, rates.data(), moment); });
}

void BaselinesHandle::read(const Napi::CallbackInfo& info) {
  HostLearner& core = learner(info);
  const auto all = bytesArgument(info, 0, "keys");
  const auto keys = all.subspan(std::min<std::size_t>(uint32Argument(info, 1, "at"), all.size()));
  const auto groups = uint32sArgument(info, 2, "groups");
  const std::size_t count = uint32Argument(info, 3, "count");
  const auto out = doublesArgument(info, 4, "out");
  const std::size_t values = count * core.directions() * Baselines::kReadValues;
  if (keys.size() < count * sizeof(Address) || groups.size() < count || out.size() < values) {
    throw Napi::RangeError::New(info.Env(), "keys, groups and out must have room for count");
  }
  core.read(keys, groups, out.first(values));
}

Napi::Value BaselinesHandle::stats(const Napi::CallbackInfo& info) {
  HostLearner& core = learner(info);
  const Napi::Env env = info.Env();
  return core.withTable([&](const BaselineTable& table) {
    Napi::Object object = Napi::Object::New(env);
    object.Set("directions", table.directions());
    object.Set("count", table.count());
    object.Set("refused", numberOf(table.refused()));
    object.Set("seasons", env.Null());
    if (const SeasonTable* const seasons = table.seasons(); seasons != nullptr) {
      Napi::Object of = Napi::Object::New(env);
      of.Set("count", seasons->count());
      of.Set("refused", numberOf(seasons->refused()));
      object.Set("seasons", of);
    }
    return object;
  });
}

void BaselinesHandle::copyRows(const Napi::CallbackInfo& info) {
  HostLearner& core = learner(info);
  const std::uint32_t first = uint32Argument(info, 0, "first"), nowSeconds = uint32Argument(info, 1, "nowSeconds");
  const auto out = bytesArgument(info, 2, "out");
  core.withTable([&](const BaselineTable& table) {
    if (first + out.size() / baselineBytes(table.directions()) > table.count()) {
      throw Napi::RangeError::New(info.Env(), "out must have room for rows that there are");
    }
    copyBaselines(table, first, nowSeconds, out);
  });
}

void BaselinesHandle::takeRows(const Napi::CallbackInfo& info) {
  HostLearner& core = learner(info);
  const auto bytes = bytesArgument(info, 0, "bytes");
  const std::uint32_t directions = directionsArgument(info, 1), nowSeconds = uint32Argument(info, 2, "nowSeconds");
  guarded(info.Env(),
          [&] { core.withTable([&](BaselineTable& table) { takeBaselines(table, bytes, directions, nowSeconds); }); });
}

Napi::Value BaselinesHandle::seasonRows(const Napi::CallbackInfo& info) {
  HostLearner& core = learner(info);
  const auto rows = core.withTable([](const BaselineTable& table) {
    return table.seasons() == nullptr ? std::vector<std::uint32_t>() : table.seasons()->rows();
  });
  auto array = Napi::Uint32Array::New(info.Env(), rows.size());
  std::ranges::copy(rows, array.Data());
  return {info.Env(), array};
}

void BaselinesHandle::copySeasons(const Napi::CallbackInfo& info) {
  HostLearner& core = learner(info);
  const auto rows = uint32sArgument(info, 0, "rows");
  const auto out = bytesArgument(info, 1, "out");
  core.withTable([&](const BaselineTable& table) { floodwall::copySeasons(table, rows, out); });
}

void BaselinesHandle::takeSeasons(const Napi::CallbackInfo& info) {
  HostLearner& core = learner(info);
  const auto bytes = bytesArgument(info, 0, "bytes");
  const std::uint32_t directions = directionsArgument(info, 1), idleSeconds = uint32Argument(info, 2, "idleSeconds");
  guarded(info.Env(), [&] {
    core.withTable([&](BaselineTable& table) { floodwall::takeSeasons(table, bytes, directions, idleSeconds); });
  });
}

/// A slice under way keeps the core alive until its promise is settled.
void BaselinesHandle::close(const Napi::CallbackInfo& info) {
  requireTag(info, kBaselinesTag, "baselines");
  learner_.reset();
}

}  // namespace floodwall::binding
