#include "named_sets_handle.h"

#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "constants.h"
#include "engine_handle.h"
#include "errors.h"
#include "promise_worker.h"

namespace floodwall::binding {
namespace {

constexpr napi_type_tag kNamedSetsTag = {0x91c3e07f5ad84b26, 0xa7d2608e14fb93c5};

using Built = std::shared_ptr<const NamedSets>;

/// A set with bytes of its own: JavaScript may change or move its arrays while the thread reads.
struct OwnedSet {
  std::string name;
  std::uint32_t bit = 0;
  std::vector<std::uint8_t> addresses, lengths;
};

std::vector<OwnedSet> setsOf(const Napi::Env& env, const Napi::Value& value) {
  if (!value.IsArray()) throw Napi::TypeError::New(env, "sets must be an array");
  const auto array = value.As<Napi::Array>();
  std::vector<OwnedSet> sets;
  std::size_t prefixes = 0;
  for (std::uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value element = array[i];
    if (!element.IsObject()) throw Napi::TypeError::New(env, "sets must be objects");
    const auto object = element.As<Napi::Object>();
    const auto addresses = bytesOf(object, "addresses"), lengths = bytesOf(object, "lengths");
    prefixes += lengths.size();
    if (prefixes > kNamedPrefixesMax) {
      throw Napi::RangeError::New(env, "the sets must have at most " + std::to_string(kNamedPrefixesMax) + " prefixes");
    }
    sets.push_back({.name = stringOf(object, "name"),
                    .bit = uint32Of(object, "bit"),
                    .addresses = {addresses.begin(), addresses.end()},
                    .lengths = {lengths.begin(), lengths.end()}});
  }
  return sets;
}

Built build(const std::vector<OwnedSet>& sets) {
  std::vector<NamedPrefixes> named;
  named.reserve(sets.size());
  for (const OwnedSet& set : sets) {
    named.push_back({.name = set.name, .bit = set.bit, .addresses = set.addresses, .lengths = set.lengths});
  }
  return std::make_shared<const NamedSets>(named);
}

}  // namespace

Napi::Function NamedSetsHandle::define(const Napi::Env& env) {
  return DefineClass(
      env, "NamedSets",
      {InstanceMethod<&NamedSetsHandle::size>("size"), InstanceMethod<&NamedSetsHandle::close>("close")});
}

NamedSetsHandle::NamedSetsHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<NamedSetsHandle>(info) {
  if (!info[0].IsExternal()) throw Napi::TypeError::New(info.Env(), "named sets cannot be constructed");
  sets_ = *info[0].As<Napi::External<Built>>().Data();
  Value().TypeTag(&kNamedSetsTag);
}

Built NamedSetsHandle::unwrap(const Napi::Value& value) {
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&kNamedSetsTag)) {
    throw Napi::TypeError::New(value.Env(), "sets must be named sets of the addon");
  }
  Built sets = Unwrap(value.As<Napi::Object>())->sets_;
  if (!sets) throwClosed(value.Env(), "named sets");
  return sets;
}

Napi::Value NamedSetsHandle::size(const Napi::CallbackInfo& info) {
  requireTag(info, kNamedSetsTag, "named sets");
  if (!sets_) throwClosed(info.Env(), "named sets");
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("prefixes", sets_->prefixes());
  object.Set("ranges", sets_->ranges());
  object.Set("bytes", numberOf(sets_->bytes()));
  return object;
}

void NamedSetsHandle::close(const Napi::CallbackInfo& info) {
  requireTag(info, kNamedSetsTag, "named sets");
  sets_.reset();
}

Napi::Value buildNamedSets(const Napi::CallbackInfo& info) {
  auto sets = std::make_shared<const std::vector<OwnedSet>>(setsOf(info.Env(), info[0]));
  return PromiseWorker<Built>::start(
      info.Env(), [sets] { return build(*sets); },
      [](const Napi::Env& env, const Built& built) {
        Built slot = built;
        return env.GetInstanceData<Constructors>()->namedSets.New({Napi::External<Built>::New(env, &slot)});
      });
}

}  // namespace floodwall::binding
