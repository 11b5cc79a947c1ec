// Gives up capabilities that this process will not need.
#pragma once

#include <cstdint>
#include <span>

namespace floodwall {

/// Lowers those of these ambient capabilities (numbers of linux/capability.h) that the process has, and executes the
/// process again, with the same arguments and environment: only execve(2) takes a capability from all threads at once
/// (capabilities(7)). Returns if there is nothing to lower, and for root, who would have it back. Throws
/// std::system_error; then the capabilities stay as they are for all threads but this one.
void dropCapabilities(std::span<const std::uint32_t> capabilities);

}  // namespace floodwall
