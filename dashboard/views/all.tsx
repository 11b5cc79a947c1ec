/** All views, in the order of the navigation: a view is a line here. */
import type { View } from "../view.ts";
import { Attacks } from "./attacks.tsx";
import { Edge } from "./edge.tsx";
import { Hosts } from "./hosts.tsx";
import { Overview } from "./overview.tsx";
import { ScrubNodes } from "./scrub-nodes.tsx";

export const VIEWS: readonly View[] = [
  { name: "", title: "Overview", icon: "overview", Content: Overview },
  { name: "attacks", title: "Attacks", icon: "attacks", Content: Attacks },
  { name: "hosts", title: "Hosts", icon: "hosts", Content: Hosts },
  { name: "scrub", title: "Scrub nodes", icon: "nodes", Content: ScrubNodes, isForUnscopedOnly: true },
  { name: "edge", title: "Edge", icon: "edge", Content: Edge },
];
