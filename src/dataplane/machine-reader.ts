/** Reads from the machine, by the addon, what a configuration depends on. Changes and attaches nothing. */
import type { MachineFindings, TriedProgram } from "../machine/machine.ts";
import { type MachineNeeds, needsKernel, programsFor } from "../machine/needs.ts";
import { AddonError } from "./addon.ts";
import type { Native } from "./native.d.ts";

export type MachineNative = Pick<Native, "probeProgram" | "readInterface" | "readKernel" | "readPinnedFilter">;
type AddonFindings = Omit<MachineFindings, "seenBy" | "gobgpd">;

const NOTHING: AddonFindings = {
  addonError: null,
  kernel: null,
  interfaces: new Map(),
  programs: [],
  pinned: new Map(),
};

/** @param load throws AddonError if the addon cannot be loaded, which is one of the findings. */
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
  // Sequential: each one uses a CPU for up to 0.1 s.
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
    // Without permission, the owner of a program is unknown.
    return new Map();
  }
}
