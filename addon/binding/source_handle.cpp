#include "source_handle.h"

#include "errors.h"
#include "source_status.h"

namespace floodwall::binding {
namespace {

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
    : Napi::ObjectWrap<SourceHandle>(info), slot_(slotArgument<SourceSlot>(info, "source")) {}

Napi::Value SourceHandle::status(const Napi::CallbackInfo& info) {
  if (!slot_->source) throwClosed(info.Env(), "source");
  return guarded(info.Env(), [&] { return statusObject(info.Env(), slot_->source->status()); });
}

void SourceHandle::close(const Napi::CallbackInfo&) { slot_->source.reset(); }

Napi::Function ReplayHandle::define(const Napi::Env& env) {
  return DefineClass(env, "Replay",
                     {InstanceMethod<&ReplayHandle::advance>("advance"),
                      InstanceMethod<&ReplayHandle::status>("status"), InstanceMethod<&ReplayHandle::close>("close")});
}

ReplayHandle::ReplayHandle(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<ReplayHandle>(info), slot_(slotArgument<ReplaySlot>(info, "replay")) {}

Napi::Value ReplayHandle::advance(const Napi::CallbackInfo& info) {
  if (!slot_->replay) throwClosed(info.Env(), "replay");
  const auto nowNs = guarded(info.Env(), [&] { return slot_->replay->advance(); });
  if (!nowNs) return info.Env().Null();
  return Napi::Number::New(info.Env(), static_cast<double>(*nowNs / 1'000'000));
}

Napi::Value ReplayHandle::status(const Napi::CallbackInfo& info) {
  if (!slot_->replay) throwClosed(info.Env(), "replay");
  return guarded(info.Env(), [&] { return statusObject(info.Env(), slot_->replay->status()); });
}

void ReplayHandle::close(const Napi::CallbackInfo&) { slot_->replay.reset(); }

}  // namespace floodwall::binding
