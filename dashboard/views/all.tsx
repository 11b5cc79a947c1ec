/** All views, in the order of the navigation. */

import { t } from "../language.ts";
import type { View } from "../view.ts";
import { Attacks } from "./attacks/attacks.tsx";
import { Audit } from "./audit/audit.tsx";
import { Edge } from "./edge/edge.tsx";
import { Explorer } from "./explorer/explorer.tsx";
import { Hosts } from "./hosts/hosts.tsx";
import { Incidents } from "./incidents/incidents.tsx";
import { Mitigation } from "./mitigation/mitigation.tsx";
import { Overview } from "./overview/overview.tsx";
import { ScrubNodes } from "./scrub/scrub-nodes.tsx";
import { Settings } from "./settings/settings.tsx";
import { Telemetry } from "./telemetry/telemetry.tsx";

export const VIEWS: readonly View[] = [
  { name: "", title: t`Overview`, icon: "overview", Content: Overview },
  { name: "attacks", title: t`Attacks`, icon: "attacks", Content: Attacks },
  { name: "incidents", title: t`Incidents`, icon: "incidents", Content: Incidents },
  { name: "mitigation", title: t`Mitigation`, icon: "bans", Content: Mitigation, formerNames: ["bans", "sources"] },
  { name: "hosts", title: t`Hosts`, icon: "hosts", Content: Hosts },
  { name: "explorer", title: t`Explorer`, icon: "explorer", Content: Explorer },
  { name: "scrub", title: t`Scrub nodes`, icon: "nodes", Content: ScrubNodes, isForUnscopedOnly: true },
  { name: "edge", title: t`Edge`, icon: "edge", Content: Edge },
  { name: "telemetry", title: t`Telemetry`, icon: "telemetry", Content: Telemetry, isForUnscopedOnly: true },
  { name: "audit", title: t`Audit`, icon: "audit", Content: Audit },
  { name: "settings", title: t`Settings`, icon: "settings", Content: Settings },
];
