// The Filter of native.d.ts.
#pragma once

#include <napi.h>

#include <memory>

#include "filter/kernel_filter.h"

namespace floodwall::binding {

class FilterHandle : public Napi::ObjectWrap<FilterHandle> {
 public:
  static Napi::Function define(const Napi::Env& env);
  /// Takes the FilterOptions of native.d.ts.
  explicit FilterHandle(const Napi::CallbackInfo& info);

  /// The open filter that a JavaScript value is, null for null; throws for anything else.
  static std::shared_ptr<KernelFilter> unwrap(const Napi::Value& value);

 private:
  // In the order of native.d.ts.
  void attach(const Napi::CallbackInfo& info);
  void putPairs(const Napi::CallbackInfo& info);
  void removePairs(const Napi::CallbackInfo& info);
  Napi::Value readPairs(const Napi::CallbackInfo& info);
  void readPairsOf(const Napi::CallbackInfo& info);
  void setRules(const Napi::CallbackInfo& info);
  Napi::Value readRules(const Napi::CallbackInfo& info);
  void watchDestinations(const Napi::CallbackInfo& info);
  void readOutcomes(const Napi::CallbackInfo& info);
  void setAllowlist(const Napi::CallbackInfo& info);
  void setWhitelist(const Napi::CallbackInfo& info);
  void setNamedSets(const Napi::CallbackInfo& info);
  Napi::Value exchangeNamedSets(const Napi::CallbackInfo& info);
  void setForwardNetworks(const Napi::CallbackInfo& info);
  Napi::Value status(const Napi::CallbackInfo& info);
  Napi::Value drops(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  /// Throws unless `this` is an open filter.
  KernelFilter& filter(const Napi::CallbackInfo& info) const;
  void setList(const Napi::CallbackInfo& info, filter_set_kind list);

  std::shared_ptr<KernelFilter> filter_;
};

/// The PinnedFilter of native.d.ts of the path in the first argument.
Napi::Value readPinnedFilter(const Napi::CallbackInfo& info);

}  // namespace floodwall::binding
