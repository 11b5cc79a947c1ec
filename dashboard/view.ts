/**
 * Defines a view. To add one: write a component in `views/` from the parts in `parts/`; read data with `useResource`
 * (or the live lists of `api/live.ts`) and show it with `Show`, which handles all states; then add a line to
 * `views/all.tsx`. `test/browser` checks every view that has a line there.
 */
import type { ComponentType } from "preact";
import type { IconName } from "./parts/icon.tsx";

export interface ViewProps {
  /** The path after the view's own step: `["ID"]` of `#/attacks/ID`. */
  readonly steps: readonly string[];
}

export interface View {
  /** First step of its path; empty for the overview. */
  readonly name: string;
  readonly title: string;
  readonly icon: IconName;
  readonly Content: ComponentType<ViewProps>;
  /** Which callers see the view: a token with a tenant cannot read what concerns the whole service. Default: all. */
  readonly isForUnscopedOnly?: true;
}
