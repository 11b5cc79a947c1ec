/** All views, in the order of the navigation. */
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
  { name: "", title: "Overview", icon: "overview", Content: Overview },
  { name: "attacks", title: "Attacks", icon: "attacks", Content: Attacks },
  { name: "incidents", title: "Incidents", icon: "incidents", Content: Incidents },
  { name: "mitigation", title: "Mitigation", icon: "bans", Content: Mitigation, formerNames: ["bans", "sources"] },
  { name: "hosts", title: "Hosts", icon: "hosts", Content: Hosts },
  { name: "explorer", title: "Explorer", icon: "explorer", Content: Explorer },
  { name: "scrub", title: "Scrub nodes", icon: "nodes", Content: ScrubNodes, isForUnscopedOnly: true },
  { name: "edge", title: "Edge", icon: "edge", Content: Edge },
  { name: "telemetry", title: "Telemetry", icon: "telemetry", Content: Telemetry, isForUnscopedOnly: true },
  { name: "audit", title: "Audit", icon: "audit", Content: Audit },
  { name: "settings", title: "Settings", icon: "settings", Content: Settings },
];
