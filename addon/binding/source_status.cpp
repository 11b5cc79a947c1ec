#include "source_status.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <string>

#include "arguments.h"
#include "constants.h"

namespace floodwall::binding {
namespace {

/// "0x0806"; of an LLC frame "llc_0x42".
std::string etherTypeName(std::uint16_t type) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), type < kLlcEnd ? "llc_0x%02x" : "0x%04x", type);
  return text.data();
}

Napi::Object etherTypesObject(const Napi::Env& env, const ShardStats& shard) {
  Napi::Object object = Napi::Object::New(env);
  std::uint64_t other = std::accumulate(shard.notIp.begin(), shard.notIp.end(), std::uint64_t{0});
  for (const EtherTypeCount& count : shard.etherTypes) {
    if (count.frames == 0) continue;
    object.Set(etherTypeName(count.type), numberOf(count.frames));
    // Counts go on while they are read.
    other -= std::min(other, count.frames);
  }
  if (other > 0) object.Set("other", numberOf(other));
  return object;
}

Napi::Object queueObject(const Napi::Env& env, const QueueStats& queue) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("interface", queue.interface);
  object.Set("queue", queue.queue);
  object.Set("receivedPackets", numberOf(queue.shard.receivedPackets));
  object.Set("receivedBytes", numberOf(queue.shard.receivedBytes));
  object.Set("countedPackets", numberOf(queue.shard.countedPackets));
  object.Set("untrackedPackets", numberOf(queue.shard.untrackedPackets));
  object.Set("foreignPackets", numberOf(queue.shard.foreignPackets));
  object.Set("parseErrors", namedCounts(env, kParseErrorNames, queue.shard.parseErrors));
  object.Set("encapsulated", namedCounts(env, kEncapsulationNames, queue.shard.encapsulated));
  object.Set("notIp", namedCounts(env, kNotIpKindNames, queue.shard.notIp));
  object.Set("etherTypes", etherTypesObject(env, queue.shard));
  object.Set("droppedRingFull", numberOf(queue.droppedRingFull));
  object.Set("droppedFillEmpty", numberOf(queue.droppedFillEmpty));
  object.Set("droppedKernel", numberOf(queue.droppedKernel));
  object.Set("lostSamples", numberOf(queue.lostSamples));
  object.Set("refused", numberOf(queue.refused));
  return object;
}

}  // namespace

Napi::Object statusObject(const Napi::Env& env, const SourceStatus& status) {
  Napi::Array queues = Napi::Array::New(env, status.queues.size());
  for (std::uint32_t i = 0; i < status.queues.size(); i++) queues.Set(i, queueObject(env, status.queues[i]));
  Napi::Object object = Napi::Object::New(env);
  object.Set("state", kSourceStates.at(static_cast<std::size_t>(status.state)));
  object.Set("mode", status.mode);
  object.Set("error", status.error.empty() ? env.Null() : Napi::String::New(env, status.error).As<Napi::Value>());
  object.Set("queues", queues);
  return object;
}

}  // namespace floodwall::binding
