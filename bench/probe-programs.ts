/** Loads every variant of every XDP program into the running kernel, and prints the results as one line. */
import { loadAddon } from "../src/dataplane/addon.ts";
import type { ProgramProbe, ProgramVariant } from "../src/machine/machine.ts";
import { ENCAPSULATIONS } from "../src/native/constants.ts";

export interface ProbedProgram {
  readonly name: string;
  readonly probe: ProgramProbe;
}

const inline = { program: "inline", maxHosts: 65_536 } as const;
const VARIANTS: readonly (readonly [string, ProgramVariant])[] = [
  ["xdp_mirror", { program: "mirror" }],
  ["xdp_filter", { program: "filter", hasFragments: false }],
  ["xdp_filter, frames in pieces", { program: "filter", hasFragments: true }],
  ["xdp_inline", { ...inline, hasFragments: false, filters: false, countsOutgoing: false }],
  ["xdp_inline, filtering", { ...inline, hasFragments: false, filters: true, countsOutgoing: false }],
  ["xdp_inline, all it can", { ...inline, hasFragments: true, filters: true, countsOutgoing: true }],
  [
    "xdp_inline, all it can, taking tunnels apart",
    { ...inline, hasFragments: true, filters: true, countsOutgoing: true, decapsulate: ENCAPSULATIONS },
  ],
];

const native = loadAddon();
const probed: ProbedProgram[] = [];
for (const [name, variant] of VARIANTS) probed.push({ name, probe: await native.probeProgram(variant) });
console.log(JSON.stringify(probed));
