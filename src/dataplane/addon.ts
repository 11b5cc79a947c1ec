/** Loads the native addon: the only place that does. What it offers: native.d.ts. */
import { messageOf } from "../system/error-message.ts";
import type { Native } from "./native.d.ts";

/** The addon is missing or does not fit this machine; the message names the remedy. */
export class AddonError extends Error {}

/** The same object each time. Throws AddonError. */
export function loadAddon(): Native {
  try {
    // A literal, so that a compiled executable carries the addon inside; `import` cannot load one.
    return require("../../build/addon/floodwall.node") as Native;
  } catch (cause) {
    throw new AddonError(
      `the packet counter (build/addon/floodwall.node) cannot be loaded: ${messageOf(cause)}; run \`make addon\``,
      {
        cause,
      },
    );
  }
}
