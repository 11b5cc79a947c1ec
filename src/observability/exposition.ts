/** Writes the text of a registry in slices, between which other work of the event loop runs. */
import type { Registry } from "prom-client";
import { nextTurn } from "../system/timers.ts";

/** Characters of one slice: about a millisecond. One metric is never cut. */
const SLICE_CHARACTERS = 16_384;

/** The text exposition format. */
export async function exposition(registry: Registry): Promise<string> {
  const texts: string[] = [];
  let written = 0;
  for (const { name } of registry.getMetricsAsArray()) {
    const text = await registry.getSingleMetricAsString(name);
    texts.push(text);
    written += text.length;
    if (written < SLICE_CHARACTERS) continue;
    written = 0;
    await nextTurn();
  }
  return `${texts.join("\n\n")}\n`;
}
