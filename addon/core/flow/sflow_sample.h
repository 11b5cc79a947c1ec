// Flow and counter samples of sFlow v5 (sflow_version_5.txt of sflow.org, 5).
#pragma once

#include <cstdint>

#include "flow/exporter_state.h"
#include "flow/xdr_reader.h"

namespace floodwall {

/// Both return false if the sample ends before its fields do. `isExpanded`: with data source and interfaces in two
/// words each.
bool readFlowSample(Decoding& decoding, FlowDomain& domain, XdrReader& reader, bool isExpanded);
bool readCounterSample(Decoding& decoding, XdrReader& reader, bool isExpanded);

}  // namespace floodwall
