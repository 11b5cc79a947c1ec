#include "program/capability_drop.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

namespace floodwall {
namespace {

int ambient(unsigned long operation, unsigned long bit) { return prctl(PR_CAP_AMBIENT, operation, bit, 0UL, 0UL); }

[[noreturn]] void executeAgain() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string line{std::istreambuf_iterator<char>(file), {}};
  std::vector<char*> arguments;
  for (std::size_t at = 0; at < line.size(); at = line.find('\0', at) + 1) arguments.push_back(line.data() + at);
  arguments.push_back(nullptr);
  if (arguments.size() > 1) execve("/proc/self/exe", arguments.data(), environ);
  throw std::system_error(errno, std::generic_category(), "execve of /proc/self/exe");
}

}  // namespace

void dropCapabilities(std::span<const std::uint32_t> capabilities) {
  if (geteuid() == 0) return;
  bool hasDropped = false;
  for (const std::uint32_t capability : capabilities) {
    if (ambient(PR_CAP_AMBIENT_IS_SET, capability) != 1) continue;
    if (ambient(PR_CAP_AMBIENT_LOWER, capability) != 0) {
      throw std::system_error(errno, std::generic_category(), "PR_CAP_AMBIENT_LOWER");
    }
    hasDropped = true;
  }
  if (hasDropped) executeAgain();
}

}  // namespace floodwall
