// The FlowSource of native-flow.d.ts.
#pragma once

#include <napi.h>

#include <memory>

#include "collector/flow_source.h"
#include "source_handle.h"

namespace floodwall::binding {

class FlowSourceHandle : public Napi::ObjectWrap<FlowSourceHandle> {
 public:
  static Napi::Function define(const Napi::Env& env);
  /// Takes a std::shared_ptr<SourceSlot>* as an external, whose source is a FlowSource.
  explicit FlowSourceHandle(const Napi::CallbackInfo& info);

 private:
  // In the order of native-flow.d.ts.
  Napi::Value status(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);
  void setExporters(const Napi::CallbackInfo& info);
  Napi::Value exporters(const Napi::CallbackInfo& info);
  Napi::Value receiver(const Napi::CallbackInfo& info);
  Napi::Value saved(const Napi::CallbackInfo& info);

  /// Throws unless `this` is an open source of flows.
  FlowSource& source(const Napi::CallbackInfo& info) const;

  std::shared_ptr<SourceSlot> slot_;
};

}  // namespace floodwall::binding
