// Single packets that an engine hands over: samples of many places at once, and profiles of hosts.
#include <cstring>

#include "arguments.h"
#include "engine_handle.h"
#include "errors.h"
#include "promise_worker.h"

namespace floodwall::binding {
namespace {

/// The arguments of readSamplesOf(). The places are copied, which may lie anywhere; the rest is the caller's.
struct SamplesOf {
  std::vector<sample_place> places;
  std::span<std::uint8_t> out;
  std::span<std::uint32_t> counts;
  std::uint32_t each;
};

SamplesOf samplesOfArguments(const Napi::CallbackInfo& info) {
  const auto bytes = bytesArgument(info, 0, "places");
  SamplesOf wanted{.places = std::vector<sample_place>(bytes.size() / sizeof(sample_place)),
                   .out = bytesArgument(info, 1, "out"),
                   .counts = uint32sArgument(info, 2, "counts"),
                   .each = uint32Argument(info, 3, "each")};
  if (bytes.size() % sizeof(sample_place) != 0) throw Napi::RangeError::New(info.Env(), "places must be whole");
  if (wanted.counts.size() < wanted.places.size()) {
    throw Napi::RangeError::New(info.Env(), "counts must have a place for each of places");
  }
  if (!bytes.empty()) std::memcpy(wanted.places.data(), bytes.data(), bytes.size());
  return wanted;
}

template <typename Record>
std::vector<Record> recordsFor(std::span<std::uint8_t> out) {
  return std::vector<Record>(out.size() / sizeof(Record));
}

template <typename Record>
void copyOut(const std::vector<Record>& records, std::size_t count, std::span<std::uint8_t> out) {
  if (count != 0) std::memcpy(out.data(), records.data(), count * sizeof(Record));
}

}  // namespace

Napi::Value EngineHandle::readSamplesOf(const Napi::CallbackInfo& info) {
  const Engine& core = engine(info);
  const SamplesOf wanted = samplesOfArguments(info);
  return Napi::Number::New(info.Env(), guarded(info.Env(), [&] {
                             return core.readSamplesOf(wanted.places, wanted.out, wanted.counts, wanted.each);
                           }));
}

/// The arrays stay where they are while the thread of the pool writes them: they are held until the promise is settled.
Napi::Value EngineHandle::readSamplesOfAsync(const Napi::CallbackInfo& info) {
  engine(info);
  const auto held = std::make_shared<std::array<Napi::ObjectReference, 2>>();
  SamplesOf wanted = samplesOfArguments(info);
  for (std::size_t i = 0; i < held->size(); i++) held->at(i) = Napi::Persistent(info[i + 1].As<Napi::Object>());
  return PromiseWorker<std::uint32_t>::start(
      info.Env(),
      [engine = engine_, wanted = std::move(wanted)] {
        return engine->readSamplesOf(wanted.places, wanted.out, wanted.counts, wanted.each);
      },
      [held](const Napi::Env& env, const std::uint32_t& count) { return Napi::Number::New(env, count); });
}

void EngineHandle::setProfileDelay(const Napi::CallbackInfo& info) {
  Engine& core = engine(info);
  core.setProfileDelay(uint32Argument(info, 0, "ms"));
}

Napi::Value EngineHandle::readProfile(const Napi::CallbackInfo& info) {
  const Engine& core = engine(info);
  const Address address = addressArgument(info, 0);
  const auto out = bytesArgument(info, 1, "out");
  return Napi::Number::New(info.Env(), guarded(info.Env(), [&] {
                             auto records = recordsFor<profile_record>(out);
                             const std::uint32_t count = core.readProfile(address, records);
                             copyOut(records, count, out);
                             return count;
                           }));
}

Napi::Value EngineHandle::readProfiles(const Napi::CallbackInfo& info) {
  const Engine& core = engine(info);
  if (!info[0].IsNumber()) throw Napi::TypeError::New(info.Env(), "cursor must be a number");
  const std::int64_t cursor = info[0].As<Napi::Number>().Int64Value();
  const auto out = bytesArgument(info, 1, "out");
  return chunkObject(info.Env(), guarded(info.Env(), [&] {
                       auto rows = recordsFor<profile_row>(out);
                       const HostChunk chunk = core.readProfiles(cursor, rows);
                       copyOut(rows, chunk.count, out);
                       return chunk;
                     }));
}

}  // namespace floodwall::binding
