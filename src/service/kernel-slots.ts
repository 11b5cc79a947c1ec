/** The slots of rules in the kernel that callers fill: by source blocks, and by protections that are always in force. */
import { callersNow, type Room, Shares } from "../access/shares.ts";
import type { Config } from "../config/config.ts";
import type { ProtectionsOptions } from "../mitigation/protection/protections.ts";
import { standingSlots } from "../mitigation/scrub/standing-rules.ts";

export interface KernelSlots {
  readonly shares: Shares;
  readonly ofChoices: Pick<ProtectionsOptions, "callers" | "slots">;
}

/** The state that an order must fit: the configuration in force, and the room that source blocks leave. */
interface Present {
  readonly config: () => Config;
  readonly room: () => Room;
}

export function kernelSlots({ dataplane }: Config, present: Present): KernelSlots {
  const callers = callersNow(() => present.config().api.callers);
  const shares = new Shares(callers);
  const slots = { shares, room: present.room, of: standingSlots };
  return { shares, ofChoices: { callers, ...(dataplane !== null && { slots }) } };
}
