/** A state in one word. The state is never shown by color alone. */
import type { ComponentChildren } from "preact";
import type { Tone } from "./callout.tsx";

export function Badge({ tone, children }: { readonly tone: Tone | "none"; readonly children: ComponentChildren }) {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}
