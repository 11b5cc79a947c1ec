// SourceOptions of native.d.ts into an open source.
#pragma once

#include <napi.h>

#include <memory>

#include "capture/supervised_source.h"
#include "count/engine.h"
#include "filter/kernel_filter.h"

namespace floodwall::binding {

/// `filter`: null, or the one that an inline source takes in if it is on the source's interface.
/// Throws a Napi::Error on options that do not fit, SourceError when the source cannot be opened.
[[nodiscard]] std::unique_ptr<CaptureSource> openSource(const Napi::Object& options, const EngineOptions& engine,
                                                        std::shared_ptr<KernelFilter> filter,
                                                        const AddShard& addAnyShard);

}  // namespace floodwall::binding
