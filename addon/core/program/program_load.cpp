#include "program/program_load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string_view>

#include "base/lazy_array.h"
#include "program/verifier_log.h"

namespace floodwall {
namespace {

/// The kernel before 6.4 fails with ENOSPC where the log does not fit, and says nothing then of what was wrong. Pages
/// are committed as the kernel writes them, which it does only after it refused the program without a log.
constexpr std::size_t kLogBytes = std::size_t{256} << 20;
/// Where there is no memory for that.
constexpr std::size_t kShortLogBytes = std::size_t{1} << 20;
/// The verifier's statistics and errors, and not each instruction (BPF_LOG_STATS of the kernel).
constexpr std::uint32_t kLogStatistics = 4;

/// The verifier gives up where a signal waits for the thread (EAGAIN): beside the timer of a profiler it would never
/// end.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_{};
};

int load(bpf_object_skeleton* skeleton) {
  const HeldSignals held;
  return -bpf_object__load_skeleton(skeleton);
}

/// Refusals of the verifier, by what was to be loaded.
class Refusals {
 public:
  [[nodiscard]] std::optional<std::string> find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = texts_.find(name);
    return found == texts_.end() ? std::nullopt : std::optional(found->second);
  }
  void keep(const std::string& name, const std::string& text) {
    const std::lock_guard lock(mutex_);
    texts_[name] = text;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> texts_;
};

Refusals& refusals() {
  static Refusals all;
  return all;
}

LazyArray<char> makeLog() {
  try {
    return LazyArray<char>(kLogBytes);
  } catch (const std::bad_alloc&) {
    return LazyArray<char>(kShortLogBytes);
  }
}

ProgramSize sizeOf(const bpf_program* program, std::string_view log) {
  bpf_prog_info info{};
  __u32 length = sizeof info;
  ProgramSize size;
  if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &length) == 0) {
    size.instructions = info.xlated_prog_len / static_cast<std::uint32_t>(sizeof(bpf_insn));
    size.verifiedInstructions = info.verified_insns;
    size.jitedBytes = info.jited_prog_len;
  }
  const VerifierWork work = workIn(log).value_or(VerifierWork{});
  size.totalStates = static_cast<std::uint32_t>(work.totalStates);
  size.peakStates = static_cast<std::uint32_t>(work.peakStates);
  return size;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string remedyFor(const LoadOrder& order, const KernelRelease& kernel) {
  if (kernel.isBefore(kLeastMajor, kLeastMinor)) {
    return "it needs Linux " + std::to_string(kLeastMajor) + "." + std::to_string(kLeastMinor) +
           " or later: boot a newer kernel, or " + order.alternative;
  }
  return "boot another kernel release and report this line to the authors of Floodwall, or " + order.alternative;
}

}  // namespace

std::optional<std::string> loadProgram(bpf_object_skeleton* skeleton, const LoadOrder& order) {
  if (auto known = refusals().find(order.name)) return known;
  prepareBpf();
  const LazyArray<char> log = makeLog();
  bpf_object* object = *skeleton->obj;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    // With level 0 libbpf asks for the log only once the kernel has refused the program.
    bpf_program__set_log_level(program, order.size == nullptr ? 0 : kLogStatistics);
    bpf_program__set_log_buf(program, log.data(), log.size());
  }
  const LibbpfWarnings warnings;
  const int error = load(skeleton);
  const std::string_view written(log.data(), strnlen(log.data(), log.size()));
  if (error == 0) {
    bpf_object__for_each_program(program, object) {
      if (order.size != nullptr) *order.size = sizeOf(program, written);
    }
    return std::nullopt;
  }
  const LoadFailure failure{.error = error, .reason = reasonIn(written), .map = warnings.failedMap()};
  const auto missing = missingForLoading();
  std::string text = loadRefusal(order, failure, kernelRelease(), missing);
  // With its statistics alone the log does not name the instruction.
  const bool isFinal = !failure.reason.empty() && missing.empty() && error != EAGAIN;
  if (isFinal && order.size == nullptr) refusals().keep(order.name, text);
  return text;
}

std::string loadRefusal(const LoadOrder& order, const LoadFailure& failure, const KernelRelease& kernel,
                        const std::vector<std::string>& missingCapabilities) {
  const std::string words = strerror(failure.error);
  const std::string refused = "Linux " + kernel.text + " refused " + order.name + ": ";
  const bool mayLoad = missingCapabilities.empty();
  const std::string permission = joined(missingCapabilities) + " missing: " + kPermissionRemedy;
  // Signals of a debugger, or a stop from the terminal, cannot be held back.
  if (failure.error == EAGAIN) return "loading " + order.name + " was interrupted by signals: try again";
  if (!failure.reason.empty()) {
    return refused + "its verifier does not take the program: " + failure.reason + " [" + words + "]; " +
           (mayLoad ? remedyFor(order, kernel) : permission);
  }
  const std::string forMap = failure.map.empty() ? "" : " for its map " + failure.map;
  switch (failure.error) {
    case EPERM:
      if (!mayLoad) return "no permission to load " + order.name + ", " + permission;
      return refused + words +
             ": this process has the capabilities, but a container's user namespace or a security module forbids it";
    case EACCES:
      return refused + words + ", without a word of the verifier: a security module may forbid it; " +
             (mayLoad ? remedyFor(order, kernel) : permission);
    case ENOMEM:
    case E2BIG:
      return refused + words + forMap + ": free memory, or " + order.lessMemory;
    case ENOSPC:
      if (failure.map.empty()) return refused + "the log of its verifier is too long; " + remedyFor(order, kernel);
      [[fallthrough]];
    default:
      return refused + words + forMap + "; " + remedyFor(order, kernel);
  }
}

}  // namespace floodwall
