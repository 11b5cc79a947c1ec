// Why packets cannot be taken from an interface or a file, or not be dropped there.
#pragma once

#include <stdexcept>

namespace floodwall {

/// Opening a source failed; what() names the interface or file, the cause and the remedy.
class SourceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace floodwall
