// The state that the flow sources of one engine share.
#pragma once

#include "collector/exporter_numbers.h"
#include "collector/site_presence.h"

namespace floodwall {

struct EngineExporters {
  SitePresence presence;
  ExporterNumbers numbers;
};

}  // namespace floodwall
