/** Checks whether the kernel accepts the programs that a configuration needs. */
import { error, type Item, ok, warning } from "./item.ts";
import type { MachineFindings, ProgramProbe, ProgramVariant, TriedProgram } from "./machine.ts";

export function programItems({ programs, kernel, seenBy }: MachineFindings): Item[] {
  const missing = kernel?.missingForLoading ?? [];
  const refused = programs.filter(({ probe }) => probe.error !== null);
  // A refusal means nothing for a command with fewer rights than the service.
  if (seenBy === "check" && missing.length > 0 && refused.length > 0) {
    const names = refused.map(({ variant }) => variantText(variant)).join("; ");
    return [...programs.filter(({ probe }) => probe.error === null).map(itemOf), notTried(names, missing)];
  }
  return programs.map(itemOf);
}

function notTried(names: string, missing: readonly string[]): Item {
  return warning("programs", `not tried without ${missing.join(", ")}: ${names}`, "run this as root");
}

function itemOf({ variant, probe }: TriedProgram): Item {
  const about = `program ${variantText(variant)}`;
  return probe.error === null ? ok(about, sizeText(probe)) : error(about, probe.error, null);
}

function sizeText({ instructions, verifiedInstructions, totalStates, jitedBytes }: ProgramProbe): string {
  const code = jitedBytes === 0 ? "not compiled" : `${jitedBytes} bytes of machine code`;
  return `loads: ${instructions} instructions, ${verifiedInstructions} verified, ${totalStates} states, ${code}`;
}

function variantText(variant: ProgramVariant): string {
  const name = `xdp_${variant.program}`;
  const details = [
    ...(variant.program === "inline" && variant.filters ? ["filtering"] : []),
    ...(variant.program === "inline" && variant.countsOutgoing ? ["counting what hosts send"] : []),
    ...(variant.program === "inline" && variant.decapsulate !== undefined ? ["taking tunnels apart"] : []),
    ...(variant.program !== "mirror" && variant.hasFragments ? ["frames in pieces"] : []),
  ];
  return details.length === 0 ? name : `${name} (${details.join(", ")})`;
}
