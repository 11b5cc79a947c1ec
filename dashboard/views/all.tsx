/** All views, in the order of the navigation: a view is a line here. */
import type { View } from "../view.ts";
import { Attacks } from "./attacks.tsx";
import { Overview } from "./overview.tsx";

export const VIEWS: readonly View[] = [
  { name: "", title: "Overview", icon: "overview", Content: Overview },
  { name: "attacks", title: "Attacks", icon: "attacks", Content: Attacks },
];
