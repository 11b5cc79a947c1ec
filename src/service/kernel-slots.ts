/** The slots of rules in the kernel that callers fill: by source blocks, and by protections that are always in force. */
import { callersNow, Shares } from "../access/shares.ts";
import type { Config } from "../config/config.ts";
import type { ProtectionsOptions } from "../mitigation/protection/protections.ts";
import { standingSlots } from "../mitigation/scrub/standing-rules.ts";
import type { SourceBlocks } from "../sourceblock/source-blocks.ts";

export interface KernelSlots {
  readonly shares: Shares;
  readonly ofChoices: Pick<ProtectionsOptions, "callers" | "slots">;
}

/** @param service whose parts are there once an order is given. */
export function kernelSlots(service: { readonly config: Config; readonly sourceBlocks: SourceBlocks }): KernelSlots {
  const callers = callersNow(() => service.config.api.tokens);
  const shares = new Shares(callers);
  const slots = { shares, room: () => service.sourceBlocks.room, of: standingSlots };
  return { shares, ofChoices: { callers, ...(service.config.dataplane !== null && { slots }) } };
}
