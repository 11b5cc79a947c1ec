#include "source_handle.h"

#include "errors.h"
#include "source_status.h"

namespace floodwall::binding {
namespace {

constexpr napi_type_tag kSourceTag = {0x2c97d1b35e804fa6, 0xb1f3094c6d7ae852};
constexpr napi_type_tag kReplayTag = {0xd40e6a8b17c25f93, 0x83b6e5f20c914d7a};

template <typename Slot>
std::shared_ptr<Slot> slotArgument(const Napi::CallbackInfo& info, const char* handle) {
  if (!info[0].IsExternal()) throw Napi::TypeError::New(info.Env(), std::string(handle) + " cannot be constructed");
  return *info[0].As<Napi::External<std::shared_ptr<Slot>>>().Data();
}

}  // namespace

Napi::Function SourceHandle::define(const Napi::Env& env) {
  return DefineClass(env, "Source",
                     {InstanceMethod<&SourceHandle::status>("status"), InstanceMethod<&SourceHandle::close>("close")});
}

SourceHandle::SourceHandle(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<SourceHandle>(info), slot_(slotArgument<SourceSlot>(info, "source")) {
  Value().TypeTag(&kSourceTag);
}

CaptureSource& SourceHandle::source(const Napi::CallbackInfo& info) const {
  requireTag(info, kSourceTag, "source");
  if (!slot_->source) throwClosed(info.Env(), "source");
  return *slot_->source;
}

Napi::Value SourceHandle::status(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return statusObject(info.Env(), source(info).status()); });
}

void SourceHandle::close(const Napi::CallbackInfo& info) {
  requireTag(info, kSourceTag, "source");
  slot_->source.reset();
}

Napi::Function ReplayHandle::define(const Napi::Env& env) {
  return DefineClass(env, "Replay",
                     {InstanceMethod<&ReplayHandle::advance>("advance"),
                      InstanceMethod<&ReplayHandle::status>("status"), InstanceMethod<&ReplayHandle::close>("close")});
}

ReplayHandle::ReplayHandle(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<ReplayHandle>(info), slot_(slotArgument<ReplaySlot>(info, "replay")) {
  Value().TypeTag(&kReplayTag);
}

CaptureReplay& ReplayHandle::replay(const Napi::CallbackInfo& info) const {
  requireTag(info, kReplayTag, "replay");
  if (!slot_->replay) throwClosed(info.Env(), "replay");
  return *slot_->replay;
}

Napi::Value ReplayHandle::advance(const Napi::CallbackInfo& info) {
  const auto nowNs = guarded(info.Env(), [&] { return replay(info).advance(); });
  if (!nowNs) return info.Env().Null();
  const std::uint64_t nowMs = *nowNs / 1'000'000;
  return Napi::Number::New(info.Env(), static_cast<double>(nowMs));
}

Napi::Value ReplayHandle::status(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return statusObject(info.Env(), replay(info).status()); });
}

void ReplayHandle::close(const Napi::CallbackInfo& info) {
  requireTag(info, kReplayTag, "replay");
  slot_->replay.reset();
}

}  // namespace floodwall::binding
