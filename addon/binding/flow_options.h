// FlowSourceOptions and ExporterRule of native-flow.d.ts into the core's.
#pragma once

#include <napi.h>

#include <vector>

#include "collector/flow_source.h"

namespace floodwall::binding {

/// Throws a Napi::Error on options that do not fit.
[[nodiscard]] FlowOptions flowOptions(const Napi::Object& options);

/// Throws also what InterfaceList does.
[[nodiscard]] std::vector<ExporterRule> exporterRules(const Napi::Value& value);

}  // namespace floodwall::binding
