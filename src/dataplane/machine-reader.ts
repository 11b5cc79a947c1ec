/** Finds out, by the addon, what a configuration needs to know of this machine. Changes nothing, and attaches nothing. */
import type { MachineFindings, TriedProgram } from "../machine/machine.ts";
import { type MachineNeeds, needsKernel, programsFor } from "../machine/needs.ts";
import { AddonError } from "./addon.ts";
import type { Native } from "./native.d.ts";

export type MachineNative = Pick<Native, "probeProgram" | "readInterface" | "readKernel" | "readPinnedFilter">;
export type AddonFindings = Omit<MachineFindings, "seenBy" | "gobgpd">;

const NOTHING: AddonFindings = {
  addonError: null,
  kernel: null,
  interfaces: new Map(),
  programs: [],
  pinned: new Map(),
};

/** @param load throws AddonError where the addon cannot be loaded, which is one of the findings. */
export async function readMachine(load: () => MachineNative, needs: MachineNeeds): Promise<AddonFindings> {
  if (!needsKernel(needs)) return NOTHING;
  let native: MachineNative;
  try {
    native = load();
  } catch (cause) {
    if (!(cause instanceof AddonError)) throw cause;
    return { ...NOTHING, addonError: cause.message };
  }
  const interfaces = new Map(
    await Promise.all(needs.interfaces.map(async ({ name }) => [name, await native.readInterface(name)] as const)),
  );
  const programs: TriedProgram[] = [];
  // One after the other: each takes a CPU for up to a tenth of a second.
  for (const variant of programsFor(needs, interfaces)) {
    programs.push({ variant, probe: await native.probeProgram(variant) });
  }
  return {
    addonError: null,
    kernel: native.readKernel(needs.pinPath),
    interfaces,
    programs,
    pinned: pinnedPrograms(native, needs.pinPath),
  };
}

function pinnedPrograms(native: MachineNative, pinPath: string | null): ReadonlyMap<string, number> {
  if (pinPath === null) return new Map();
  try {
    return new Map(native.readPinnedFilter(pinPath).links.map(({ name, program }) => [name, program]));
  } catch {
    // Whoever may not look does not know whose a program is.
    return new Map();
  }
}
