#include "prefix_sums_handle.h"

#include <mutex>
#include <vector>

#include "arguments.h"
#include "errors.h"

namespace floodwall::binding {
namespace {

constexpr napi_type_tag kPrefixSumsTag = {0x7d03f6a91b2e4c58, 0x94ce8b5f20d7a163};

}  // namespace

Napi::Function PrefixSumsHandle::define(const Napi::Env& env) {
  return DefineClass(
      env, "PrefixSums",
      {InstanceMethod<&PrefixSumsHandle::setNetworks>("setNetworks"), InstanceMethod<&PrefixSumsHandle::begin>("begin"),
       InstanceMethod<&PrefixSumsHandle::stats>("stats"), InstanceMethod<&PrefixSumsHandle::read>("read"),
       InstanceMethod<&PrefixSumsHandle::readNames>("readNames"),
       InstanceMethod<&PrefixSumsHandle::setAttacked>("setAttacked"),
       InstanceMethod<&PrefixSumsHandle::close>("close")});
}

PrefixSumsHandle::PrefixSumsHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<PrefixSumsHandle>(info) {
  const std::uint32_t capacity = uint32Argument(info, 0, "capacity");
  if (capacity == 0 || capacity >= kIndexRowsMax) {
    throw Napi::RangeError::New(info.Env(), "capacity must be 1 to " + std::to_string(kIndexRowsMax - 1));
  }
  sums_ = guarded(info.Env(), [&] { return std::make_shared<GuardedSums>(capacity); });
  Value().TypeTag(&kPrefixSumsTag);
}

std::shared_ptr<GuardedSums> PrefixSumsHandle::unwrapOrNull(const Napi::Value& value) {
  if (value.IsNull()) return nullptr;
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&kPrefixSumsTag)) {
    throw Napi::TypeError::New(value.Env(), "sums must be prefix sums of the addon, or null");
  }
  auto sums = Unwrap(value.As<Napi::Object>())->sums_;
  if (!sums) throwClosed(value.Env(), "prefix sums");
  return sums;
}

GuardedSums& PrefixSumsHandle::guardedSums(const Napi::CallbackInfo& info) const {
  requireTag(info, kPrefixSumsTag, "prefix sums");
  if (!sums_) throwClosed(info.Env(), "prefix sums");
  return *sums_;
}

void PrefixSumsHandle::setNetworks(const Napi::CallbackInfo& info) {
  GuardedSums& core = guardedSums(info);
  const auto lengths = bytesArgument(info, 0, "lengths"), isIpv4 = bytesArgument(info, 1, "isIpv4");
  if (isIpv4.size() != lengths.size()) throw Napi::RangeError::New(info.Env(), "isIpv4 must be as long as lengths");
  std::vector<SummedNetwork> networks;
  for (std::size_t i = 0; i < lengths.size(); i++) {
    if (lengths[i] > (isIpv4[i] != 0 ? 32 : 128)) throw Napi::RangeError::New(info.Env(), "a length is too large");
    networks.push_back({.length = lengths[i], .isIpv4 = isIpv4[i] != 0});
  }
  const std::scoped_lock held(core.lock);
  guarded(info.Env(), [&] { core.sums.setNetworks(std::move(networks)); });
}

void PrefixSumsHandle::begin(const Napi::CallbackInfo& info) {
  GuardedSums& core = guardedSums(info);
  const std::scoped_lock held(core.lock);
  core.sums.begin();
}

Napi::Value PrefixSumsHandle::stats(const Napi::CallbackInfo& info) {
  const GuardedSums& core = guardedSums(info);
  const std::scoped_lock held(core.lock);
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("count", core.sums.count());
  object.Set("generation", core.sums.generation());
  object.Set("overflow", numberOf(core.sums.overflow()));
  return object;
}

void PrefixSumsHandle::read(const Napi::CallbackInfo& info) {
  const GuardedSums& core = guardedSums(info);
  const PrefixColumns out{.sums = doublesArgument(info, 0, "sums"),
                          .squares = doublesArgument(info, 1, "squares"),
                          .variances = doublesArgument(info, 2, "variances")};
  const std::size_t rows = out.variances.size() / PrefixSums::kVariances;
  if (out.sums.size() < rows * kMetrics || out.squares.size() < rows * kMetrics) {
    throw Napi::RangeError::New(info.Env(), "sums, squares and variances must be of as many prefixes");
  }
  const std::scoped_lock held(core.lock);
  core.sums.read(out);
}

void PrefixSumsHandle::readNames(const Napi::CallbackInfo& info) {
  const GuardedSums& core = guardedSums(info);
  const std::uint32_t first = uint32Argument(info, 0, "first");
  const PrefixNames out{.groups = uint32sArgument(info, 1, "groups"),
                        .networks = uint32sArgument(info, 2, "networks"),
                        .bits = doublesArgument(info, 3, "bits"),
                        .addresses = bytesArgument(info, 4, "addresses")};
  const std::size_t rows = out.groups.size();
  if (out.networks.size() < rows || out.bits.size() < rows || out.addresses.size() < rows * sizeof(Address)) {
    throw Napi::RangeError::New(info.Env(), "groups, networks, bits and addresses must be of as many prefixes");
  }
  const std::scoped_lock held(core.lock);
  core.sums.readNames(first, out);
}

void PrefixSumsHandle::setAttacked(const Napi::CallbackInfo& info) {
  GuardedSums& core = guardedSums(info);
  const auto isAttacked = bytesArgument(info, 0, "isAttacked");
  const std::scoped_lock held(core.lock);
  core.sums.setAttacked(isAttacked);
}

/// A slice under way keeps the core alive until its promise is settled.
void PrefixSumsHandle::close(const Napi::CallbackInfo& info) {
  requireTag(info, kPrefixSumsTag, "prefix sums");
  sums_.reset();
}

}  // namespace floodwall::binding
