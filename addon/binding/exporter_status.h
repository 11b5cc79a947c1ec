// The status of exporters and of their receiver, as the objects of native-flow.d.ts.
#pragma once

#include <napi.h>

#include <vector>

#include "collector/flow_source.h"

namespace floodwall::binding {

[[nodiscard]] Napi::Array exporterArray(const Napi::Env& env, const std::vector<ExporterStatus>& exporters,
                                        bool withInterfaces);
[[nodiscard]] Napi::Object receiverObject(const Napi::Env& env, const FlowReceiverStatus& receiver);

}  // namespace floodwall::binding
