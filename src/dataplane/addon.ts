/** The only place that loads the native addon, which native.d.ts describes. */
import { messageOf } from "../system/error-message.ts";
import type { Native } from "./native.d.ts";

/** The addon is missing or does not run on this machine; the message names the remedy. */
export class AddonError extends Error {}

/** Returns the same object each time. Throws AddonError. */
export function loadAddon(): Native {
  try {
    // A literal path, so that a compiled executable includes the addon; `import` cannot load one.
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
