#include "flow_source_handle.h"

#include <algorithm>
#include <string>
#include <vector>

#include "arguments.h"
#include "errors.h"
#include "exporter_status.h"
#include "flow_options.h"
#include "source_status.h"

namespace floodwall::binding {
namespace {

constexpr napi_type_tag kFlowSourceTag = {0x5e1b7a90c4d2f683, 0x96a0d7e3b82c415f};

}  // namespace

Napi::Function FlowSourceHandle::define(const Napi::Env& env) {
  return DefineClass(
      env, "FlowSource",
      {InstanceMethod<&FlowSourceHandle::status>("status"), InstanceMethod<&FlowSourceHandle::close>("close"),
       InstanceMethod<&FlowSourceHandle::setExporters>("setExporters"),
       InstanceMethod<&FlowSourceHandle::exporters>("exporters"),
       InstanceMethod<&FlowSourceHandle::receiver>("receiver"), InstanceMethod<&FlowSourceHandle::saved>("saved")});
}

FlowSourceHandle::FlowSourceHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<FlowSourceHandle>(info) {
  if (!info[0].IsExternal()) throw Napi::TypeError::New(info.Env(), "flow source cannot be constructed");
  slot_ = *info[0].As<Napi::External<std::shared_ptr<SourceSlot>>>().Data();
  Value().TypeTag(&kFlowSourceTag);
}

FlowSource& FlowSourceHandle::source(const Napi::CallbackInfo& info) const {
  requireTag(info, kFlowSourceTag, "flow source");
  if (!slot_->source) throwClosed(info.Env(), "flow source");
  return static_cast<FlowSource&>(*slot_->source);
}

Napi::Value FlowSourceHandle::status(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return statusObject(info.Env(), source(info).status()); });
}

void FlowSourceHandle::close(const Napi::CallbackInfo& info) {
  requireTag(info, kFlowSourceTag, "flow source");
  slot_->source.reset();
}

void FlowSourceHandle::setExporters(const Napi::CallbackInfo& info) {
  FlowSource& flows = source(info);
  guarded(info.Env(), [&] { flows.setExporters(exporterRules(info[0])); });
}

Napi::Value FlowSourceHandle::exporters(const Napi::CallbackInfo& info) {
  const FlowSource& flows = source(info);
  const bool withInterfaces = booleanOf(objectArgument(info, 0, "options"), "withInterfaces");
  return guarded(info.Env(), [&] { return exporterArray(info.Env(), flows.exporters(), withInterfaces); });
}

Napi::Value FlowSourceHandle::receiver(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return receiverObject(info.Env(), source(info).receiver()); });
}

Napi::Value FlowSourceHandle::saved(const Napi::CallbackInfo& info) {
  const FlowSource& flows = source(info);
  return guarded(info.Env(), [&]() -> Napi::Value {
    const std::vector<std::uint8_t> bytes = flows.saved();
    auto array = Napi::Uint8Array::New(info.Env(), bytes.size());
    std::copy(bytes.begin(), bytes.end(), array.Data());
    return Napi::Value(info.Env(), static_cast<napi_value>(array));
  });
}

}  // namespace floodwall::binding
