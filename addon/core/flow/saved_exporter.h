// The state of an exporter for the time after a restart: templates and rates that decoded records, names that were
// used. What it says afterwards holds instead.
#pragma once

#include <cstdint>
#include <vector>

#include "flow/exporter_state.h"

namespace floodwall {

/// Bytes of one exporter; templates beyond are left out.
inline constexpr std::size_t kSavedExporterMax = 256U << 10;

void saveExporter(const ExporterState& state, std::vector<std::uint8_t>& bytes);

/// Into the state of a new exporter. Templates go through the reader of those that come by datagrams. False if the
/// bytes end too soon or say what cannot be: what was taken until then stays.
bool restoreExporter(ExporterState& state, ByteSpan bytes);

}  // namespace floodwall
