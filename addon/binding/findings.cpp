#include "findings.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "constants.h"
#include "device/netdev_family.h"
#include "errors.h"
#include "findings/interface_findings.h"
#include "findings/kernel_findings.h"
#include "findings/program_probe.h"
#include "promise_worker.h"

namespace floodwall::binding {
namespace {

/// In the order of kXdpFeatures.
constexpr std::array<std::uint64_t, kXdpFeatures.size()> kFeatureBits = {
    kXdpBasic, kXdpRedirect, kXdpTakesRedirects, kXdpZeroCopy, kXdpOffload, kXdpFragments, kXdpTakesFragments};

std::string textArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name) {
  if (!info[index].IsString()) throw Napi::TypeError::New(info.Env(), std::string(name) + " must be a string");
  return info[index].As<Napi::String>().Utf8Value();
}

template <typename T, typename Convert>
Napi::Value orNull(const Napi::Env& env, const std::optional<T>& value, Convert&& convert) {
  return value ? Napi::Value(convert(*value)) : env.Null();
}

Napi::Value numberOrNull(const Napi::Env& env, const auto& value) {
  return orNull(env, value, [&](auto number) { return Napi::Number::New(env, static_cast<double>(number)); });
}

Napi::Value booleanOrNull(const Napi::Env& env, const std::optional<bool>& value) {
  return orNull(env, value, [&](bool is) { return Napi::Boolean::New(env, is); });
}

Napi::Value textOrNull(const Napi::Env& env, const std::string& text) {
  return text.empty() ? env.Null() : Napi::Value(Napi::String::New(env, text));
}

Napi::Array namesOf(const Napi::Env& env, const std::vector<std::string>& names) {
  Napi::Array array = Napi::Array::New(env, names.size());
  for (std::uint32_t i = 0; i < names.size(); i++) array.Set(i, names[i]);
  return array;
}

Napi::Value nowAndMost(const Napi::Env& env, const std::optional<NowAndMost>& value) {
  return orNull(env, value, [&](const NowAndMost& found) {
    Napi::Object object = Napi::Object::New(env);
    object.Set("now", found.now);
    object.Set("most", found.most);
    return object;
  });
}

Napi::Value featuresOf(const Napi::Env& env, const std::optional<std::uint64_t>& bits) {
  return orNull(env, bits, [&](std::uint64_t set) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < kXdpFeatures.size(); i++) {
      if ((set & kFeatureBits.at(i)) != 0) names.emplace_back(kXdpFeatures.at(i));
    }
    return namesOf(env, names);
  });
}

Napi::Array obstaclesOf(const Napi::Env& env, const std::vector<Obstacle>& obstacles) {
  Napi::Array array = Napi::Array::New(env, obstacles.size());
  for (std::uint32_t i = 0; i < obstacles.size(); i++) {
    Napi::Object object = Napi::Object::New(env);
    object.Set("found", obstacles[i].found);
    object.Set("remedy", textOrNull(env, obstacles[i].remedy));
    array.Set(i, object);
  }
  return array;
}

Napi::Value interfaceValue(const Napi::Env& env, const InterfaceFindings& found) {
  const auto& [device, details, nativeMtuMost, xdpFeatures, nativeObstacles, attached] = found;
  Napi::Object object = Napi::Object::New(env);
  object.Set("name", device.name);
  object.Set("driver", textOrNull(env, details.driver));
  object.Set("driverVersion", textOrNull(env, details.driverVersion));
  object.Set("bus", textOrNull(env, details.bus));
  object.Set("isUp", device.isUp);
  object.Set("hasCarrier", device.hasCarrier);
  object.Set("mtu", device.mtu);
  object.Set("nativeMtuMost", numberOrNull(env, nativeMtuMost));
  object.Set("rxQueues", device.rxQueues);
  object.Set("rxQueuesMost", orNull(env, details.rxQueues,
                                    [&](const NowAndMost& queues) { return Napi::Number::New(env, queues.most); }));
  object.Set("rxRing", nowAndMost(env, details.rxRing));
  object.Set("lro", booleanOrNull(env, details.lro));
  object.Set("groHw", booleanOrNull(env, details.groHw));
  object.Set("gro", booleanOrNull(env, details.gro));
  object.Set("rxVlan", booleanOrNull(env, details.rxVlan));
  object.Set("vlanDevices", details.vlanDevices);
  object.Set("xdpFeatures", featuresOf(env, xdpFeatures));
  object.Set("nativeObstacles", obstaclesOf(env, nativeObstacles));
  object.Set("attached", orNull(env, attached, [&](const AttachedProgram& program) {
               Napi::Object holder = Napi::Object::New(env);
               holder.Set("id", program.id);
               holder.Set("name", textOrNull(env, program.name));
               holder.Set("isGeneric", program.isGeneric);
               return holder;
             }));
  return object;
}

Napi::Value probeValue(const Napi::Env& env, const ProgramProbe& probe) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("instructions", probe.size.instructions);
  object.Set("verifiedInstructions", probe.size.verifiedInstructions);
  object.Set("totalStates", probe.size.totalStates);
  object.Set("peakStates", probe.size.peakStates);
  object.Set("jitedBytes", probe.size.jitedBytes);
  object.Set("error", textOrNull(env, probe.error));
  return object;
}

Napi::Value kernelValue(const Napi::Env& env, const KernelFindings& found) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("release", found.release);
  object.Set("hasBtf", found.hasBtf);
  object.Set("isJitOn", booleanOrNull(env, found.isJitOn));
  object.Set("lockdown", textOrNull(env, found.lockdown.value_or("")));
  object.Set("lockedBytesMost", numberOrNull(env, found.lockedBytesMost));
  object.Set("capabilities", namesOf(env, found.capabilities));
  object.Set("missingForLoading", namesOf(env, found.missingForLoading));
  object.Set("possibleCpus", found.possibleCpus);
  object.Set("pinPath", orNull(env, found.pinPath, [&](const PinPathFindings& path) {
               Napi::Object where = Napi::Object::New(env);
               where.Set("existing", path.existing);
               where.Set("isOnBpfFileSystem", path.isOnBpfFileSystem);
               return where;
             }));
  return object;
}

ProgramVariant variantOf(const Napi::Object& options) {
  const auto kind = static_cast<ProgramKind>(choiceOf(options, "program", kPrograms));
  ProgramVariant variant{.kind = kind};
  if (kind != ProgramKind::mirror) variant.hasFragments = booleanOf(options, "hasFragments");
  if (kind != ProgramKind::inlineCounter) return variant;
  variant.filters = booleanOf(options, "filters");
  variant.countsOutgoing = booleanOf(options, "countsOutgoing");
  variant.maxHosts = uint32Of(options, "maxHosts");
  variant.decapsulated = decapsulationOf(options);
  return variant;
}

}  // namespace

Napi::Value probeProgram(const Napi::CallbackInfo& info) {
  const ProgramVariant variant = variantOf(objectArgument(info, 0, "variant"));
  return PromiseWorker<ProgramProbe>::start(
      info.Env(), [variant] { return floodwall::probeProgram(variant); }, probeValue);
}

Napi::Value readInterface(const Napi::CallbackInfo& info) {
  const std::string name = textArgument(info, 0, "name");
  using Found = std::optional<InterfaceFindings>;
  return PromiseWorker<Found>::start(
      info.Env(), [name] { return floodwall::readInterface(name); },
      [](const Napi::Env& env, const Found& found) {
        return orNull(env, found, [&](const InterfaceFindings& one) { return interfaceValue(env, one); });
      });
}

Napi::Value readKernel(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::string pinPath = info[0].IsNull() ? "" : textArgument(info, 0, "pinPath");
  return kernelValue(env, guarded(env, [&] { return floodwall::readKernel(pinPath); }));
}

}  // namespace floodwall::binding
