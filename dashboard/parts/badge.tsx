/** A state in one word. The state is never shown by color alone. */
import type { ComponentChildren } from "preact";
import { silentSinceMs } from "../api/contact.ts";
import type { Tone } from "./callout.tsx";

/** Nothing is well that was so when the service last answered. */
function knownTone<T extends Tone | "none">(tone: T): T | "none" {
  return tone === "ok" && silentSinceMs.value !== null ? "none" : tone;
}

export function Badge({ tone, children }: { readonly tone: Tone | "none"; readonly children: ComponentChildren }) {
  return <span class={`badge badge-${knownTone(tone)}`}>{children}</span>;
}
