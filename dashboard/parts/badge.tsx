/** One word of state. Never told by colour alone. */
import type { ComponentChildren } from "preact";
import type { Tone } from "./callout.tsx";

export function Badge({ tone, children }: { readonly tone: Tone | "none"; readonly children: ComponentChildren }) {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}
