/** Gives up, at the start, the capabilities of the unit that the configuration has no use for. */
import { loadAddon } from "../dataplane/addon.ts";
import type { MachineNeeds } from "../machine/needs.ts";
import { CAPABILITY_NUMBERS, type Capability, uselessCapabilities } from "../machine/rights.ts";
import type { Log } from "../observability/log.ts";
import { ambientCapabilities } from "../system/capabilities.ts";

/**
 * Executes the program again, in the same process, if it has any of them; so this is called before anything is started
 * or logged. Then, or if there is nothing to give up, it logs what is left of those that the unit gave.
 */
export function dropUselessCapabilities(needs: MachineNeeds, ports: readonly number[], log: Log): void {
  const useless = uselessCapabilities(needs, ports).filter(isHeld);
  try {
    if (useless.length > 0) {
      loadAddon().dropCapabilities({ capabilities: useless.map((name) => CAPABILITY_NUMBERS[name]) });
    }
  } catch (cause) {
    log.warn({ cause, capabilities: useless }, "capabilities without a use are kept");
  }
  const held = (Object.keys(CAPABILITY_NUMBERS) as Capability[]).filter(isHeld);
  if (ambientCapabilities() !== 0n) log.info({ capabilities: held }, "capabilities in force");
}

function isHeld(name: Capability): boolean {
  return ((ambientCapabilities() >> BigInt(CAPABILITY_NUMBERS[name])) & 1n) === 1n;
}
