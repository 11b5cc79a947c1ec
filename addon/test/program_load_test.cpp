// What is said when the kernel does not load a program: the remedy must fit the cause, and a program that was only
// tried leaves nothing behind.
#include "program/program_load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "findings/program_probe.h"
#include "inline_box.h"
#include "refused.skel.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

const KernelRelease kNew = parseRelease("6.1.0-18-amd64");
const KernelRelease kOld = parseRelease("5.15.0-91-generic");
const LoadOrder kOrder{.name = "the XDP counter",
                       .alternative = "capture a mirror port",
                       .lessMemory = "lower capture.max_hosts",
                       .size = nullptr};

std::string refusal(const LoadFailure& failure, const KernelRelease& kernel = kNew,
                    const std::vector<std::string>& missing = {}) {
  return loadRefusal(kOrder, failure, kernel, missing);
}

struct Destroy {
  void operator()(refused_bpf* skeleton) const { refused_bpf__destroy(skeleton); }
};

std::string loadRefused(const std::string& name) {
  const std::unique_ptr<refused_bpf, Destroy> skeleton(refused_bpf__open());
  REQUIRE(skeleton);
  const auto text =
      loadProgram(skeleton->skeleton, {.name = name, .alternative = "", .lessMemory = "", .size = nullptr});
  REQUIRE(text);
  return *text;
}

/// Descriptors and mappings are all by which a process can hold a program, a map or a link that it did not pin. The
/// kernel's own lists are no measure: other processes load and let go all the time, and it frees in its own time.
std::size_t held() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  auto count = static_cast<std::size_t>(std::distance(begin(files), end(files)));
  std::ifstream mappings("/proc/self/maps");
  for (std::string line; std::getline(mappings, line);) count += line.find("bpf") == std::string::npos ? 0U : 1U;
  return count;
}

}  // namespace

TEST_CASE("a missing permission is named, with the capabilities that are missing and those to give") {
  CHECK(refusal({.error = EPERM, .reason = "", .map = ""}, kNew, {"CAP_BPF", "CAP_PERFMON"}) ==
        "no permission to load the XDP counter, CAP_BPF, CAP_PERFMON missing: " + std::string(kPermissionRemedy));
}

TEST_CASE("a process with all permissions is not sent to get them") {
  const std::string text = refusal({.error = EPERM, .reason = "", .map = ""});
  CHECK(text ==
        "Linux 6.1.0-18-amd64 refused the XDP counter: Operation not permitted: this process has the capabilities, but "
        "a container's user namespace or a security module forbids it");
}

TEST_CASE("a program that the verifier does not take comes with its words, and is no matter of permissions") {
  const std::string text = refusal({.error = EACCES, .reason = "R1 unbounded memory access", .map = ""});
  CHECK(
      text.starts_with("Linux 6.1.0-18-amd64 refused the XDP counter: its verifier does not take the program: R1 "
                       "unbounded memory access [Permission denied]; boot another kernel release"));
  CHECK(text.find("CAP_") == std::string::npos);
  CHECK(text.find("5.18") == std::string::npos);
}

TEST_CASE("without CAP_PERFMON the verifier takes less: then the capability is the remedy") {
  const std::string text =
      refusal({.error = EACCES, .reason = "R1 pointer comparison prohibited", .map = ""}, kNew, {"CAP_PERFMON"});
  CHECK(text.find("R1 pointer comparison prohibited") != std::string::npos);
  CHECK(text.ends_with("CAP_PERFMON missing: " + std::string(kPermissionRemedy)));
}

TEST_CASE("the least kernel is named on an older one alone") {
  const LoadFailure failure{.error = EINVAL, .reason = "unknown func bpf_xdp_get_buff_len#188", .map = ""};
  CHECK(
      refusal(failure, kOld).ends_with("it needs Linux 5.18 or later: boot a newer kernel, or capture a mirror port"));
  CHECK(refusal(failure, parseRelease("5.18.0")).find("needs Linux") == std::string::npos);
  CHECK(refusal(failure, parseRelease("5.17.15")).find("needs Linux") != std::string::npos);
  CHECK(refusal(failure, parseRelease("unknown")).find("needs Linux") == std::string::npos);
}

TEST_CASE("EACCES without a word of the verifier points to a security module") {
  CHECK(refusal({.error = EACCES, .reason = "", .map = ""}).find("a security module may forbid it") !=
        std::string::npos);
}

TEST_CASE("a map that finds no memory is named, with what makes it smaller") {
  CHECK(refusal({.error = ENOMEM, .reason = "", .map = "buckets"}) ==
        "Linux 6.1.0-18-amd64 refused the XDP counter: Cannot allocate memory for its map buckets: free memory, or "
        "lower capture.max_hosts");
  CHECK(
      refusal({.error = ENOMEM, .reason = "", .map = ""}) ==
      "Linux 6.1.0-18-amd64 refused the XDP counter: Cannot allocate memory: free memory, or lower capture.max_hosts");
}

TEST_CASE("a map that the kernel does not know is no matter of memory") {
  CHECK(refusal({.error = EINVAL, .reason = "", .map = "samples"}, kOld) ==
        "Linux 5.15.0-91-generic refused the XDP counter: Invalid argument for its map samples; it needs Linux 5.18 or "
        "later: boot a newer kernel, or capture a mirror port");
}

TEST_CASE("a program that this kernel's verifier refuses is refused with kernel, program and the verifier's line") {
  if (cannotRunXdp("a refused program names its cause")) return;
  utsname names{};
  REQUIRE(uname(&names) == 0);
  const std::string text = loadRefused("the planted program");
  CHECK(text.starts_with("Linux " + std::string(names.release) + " refused the planted program: its verifier"));
  CHECK(text.find(" unbounded memory access, make sure to bounds check any such access (at instruction ") !=
        std::string::npos);
  CHECK(text.find("(71) r") != std::string::npos);
  CHECK(text.find("value[ctx->rx_queue_index]") != std::string::npos);
  CHECK(text.find("[Permission denied]") != std::string::npos);
  CHECK(text.find('\n') == std::string::npos);
  // It is kept: the same is said again without asking the kernel, which would name another program otherwise.
  CHECK(loadRefused("the planted program") == text);
}

TEST_CASE("a thread without capabilities is refused with those that are missing") {
  if (cannotRunXdp("missing capabilities are named")) return;
  std::string text;
  // Capabilities are those of a thread.
  std::thread([&] {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> none{};
    REQUIRE(syscall(SYS_capset, &header, none.data()) == 0);
    text = probeProgram({.kind = ProgramKind::mirror}).error;
  }).join();
  CHECK(text.find("CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON missing: run as root") != std::string::npos);
}

TEST_CASE("a program is loaded beside signals that come faster than the verifier ends") {
  if (cannotRunXdp("programs are loaded beside signals")) return;
  static volatile std::sig_atomic_t alarms = 0;
  struct sigaction before {
  }, counting{};
  counting.sa_handler = [](int) { alarms = alarms + 1; };
  counting.sa_flags = SA_RESTART;
  REQUIRE(sigaction(SIGALRM, &counting, &before) == 0);
  const itimerval often{.it_interval = {0, 1000}, .it_value = {0, 1000}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  const ProgramProbe probe = probeProgram({.kind = ProgramKind::filter});
  while (alarms == 0) continue;
  setitimer(ITIMER_REAL, &never, nullptr);
  REQUIRE(sigaction(SIGALRM, &before, nullptr) == 0);
  CHECK(probe.error == "");
}

TEST_CASE("loading that was interrupted is tried again, and is no word of the kernel about the program") {
  CHECK(refusal({.error = EAGAIN, .reason = "half of a log", .map = ""}) ==
        "loading the XDP counter was interrupted by signals: try again");
}

TEST_CASE("every program of ours is taken by this kernel, reports its size, and leaves nothing behind") {
  if (cannotRunXdp("programs are tried without leaving anything behind")) return;
  for (const ProgramKind kind : {ProgramKind::mirror, ProgramKind::filter, ProgramKind::inlineCounter}) {
    for (const unsigned bits : {0U, 1U, 2U, 4U, 7U}) {
      const ProgramVariant variant{.kind = kind,
                                   .hasFragments = (bits & 1U) != 0,
                                   .filters = (bits & 2U) != 0,
                                   .countsOutgoing = (bits & 4U) != 0,
                                   .maxHosts = 1U << 20};
      const std::size_t before = held();
      const ProgramProbe probe = probeProgram(variant);
      CAPTURE(static_cast<int>(kind));
      CAPTURE(bits);
      CHECK(probe.error == "");
      CHECK(probe.size.instructions > 0);
      CHECK(probe.size.verifiedInstructions > 0);
      CHECK(probe.size.totalStates > 0);
      CHECK(probe.size.peakStates <= probe.size.totalStates);
      CHECK(held() == before);
    }
  }
}
