#include "datagrams.h"

#include <stdexcept>

namespace floodwall::telemetry {

std::unique_ptr<Datagrams> datagramsOf(const SenderOptions& options) {
  switch (options.protocol) {
    case Protocol::netflow5:
      return netFlow5(options);
    case Protocol::netflow9:
      return netFlow9(options);
    case Protocol::ipfix:
      return ipfix(options);
    case Protocol::sflow:
      return sflow(options);
  }
  throw std::logic_error("no such protocol");
}

}  // namespace floodwall::telemetry
