// The NamedSets of native.d.ts.
#pragma once

#include <napi.h>

#include <memory>

#include "filter/named_sets.h"

namespace floodwall::binding {

class NamedSetsHandle : public Napi::ObjectWrap<NamedSetsHandle> {
 public:
  static Napi::Function define(const Napi::Env& env);
  /// Takes a std::shared_ptr<const NamedSets>* as an external.
  explicit NamedSetsHandle(const Napi::CallbackInfo& info);

  /// The open sets that a JavaScript value is; throws for anything else.
  static std::shared_ptr<const NamedSets> unwrap(const Napi::Value& value);

 private:
  // In the order of native.d.ts.
  Napi::Value size(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  std::shared_ptr<const NamedSets> sets_;
};

/// Makes a NamedSets of the NamedPrefixes in the first argument, on a thread of the pool.
Napi::Value buildNamedSets(const Napi::CallbackInfo& info);

}  // namespace floodwall::binding
