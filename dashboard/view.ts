/** Defines a view: a line of `views/all.tsx`. How to add one is in CONTRIBUTING.md. */
import type { ComponentType } from "preact";
import type { IconName } from "./parts/icon.tsx";

export interface ViewProps {
  /** The path after the view's own step: `["ID"]` of `#/attacks/ID`. */
  readonly steps: readonly string[];
}

export interface View {
  /** First step of its path; empty for the overview. */
  readonly name: string;
  /** Names of before: links to them lead here. */
  readonly formerNames?: readonly string[];
  readonly title: string;
  readonly icon: IconName;
  readonly Content: ComponentType<ViewProps>;
  /** Which callers see the view: a token with a tenant cannot read what concerns the whole service. Default: all. */
  readonly isForUnscopedOnly?: true;
}
