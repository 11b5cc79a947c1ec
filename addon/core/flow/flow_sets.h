// The sets of a NetFlow v9 or IPFIX message: templates and the records that use them.
#pragma once

#include <cstdint>

#include "flow/exporter_state.h"

namespace floodwall {

/// Sets of one message.
struct SetsRead {
  /// Data records, those of options included (RFC 7011, 3.1: what the sequence number counts).
  std::uint32_t records = 0;
  /// Whether all were separated.
  bool isComplete = true;
};

/// Decodes the sets that follow a message's header. `sets` lies within the datagram, at least kBytesBeforeRecords from
/// its start.
SetsRead readSets(Decoding& decoding, FlowDomain& domain, ByteSpan sets, const MessageTimes& times);

}  // namespace floodwall
