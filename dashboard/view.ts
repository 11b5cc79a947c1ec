/**
 * What a view is. To make one: write a component in `views/` from the parts in `parts/`, read with `useResource` (or the
 * live lists of `api/live.ts`), show what was read with `Show`, which knows all its states; then add its line to
 * `views/all.tsx`. `test/browser` looks at every view that has a line there.
 */
import type { ComponentType } from "preact";
import type { IconName } from "./parts/icon.tsx";

export interface ViewProps {
  /** The steps of the place behind the view's own: `["ID"]` of `#/attacks/ID`. */
  readonly steps: readonly string[];
}

export interface View {
  /** First step of its place; empty for the overview. */
  readonly name: string;
  readonly title: string;
  readonly icon: IconName;
  readonly Content: ComponentType<ViewProps>;
  /** Who has it at all: a token with a tenant is refused what concerns the whole service. Default: all. */
  readonly isForUnscopedOnly?: true;
}
