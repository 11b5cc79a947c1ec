/**
 * How close are our XDP programs to the limits of the verifiers in stock kernels? Debian's kernels under QEMU, and the
 * running kernel. The verifier gives up at a million instructions; older kernels count more for the same program.
 */
import { release } from "node:os";
import { KERNEL_SUITES, kernelImage, virtualMachineUnavailable } from "../test/machines/kernel-image.ts";
import { runInGuest } from "../test/machines/virtual-machine.ts";
import { type Bench, figure, type Measurement } from "./measurement.ts";
import type { ProbedProgram } from "./probe-programs.ts";

const PROBE = ["node_modules/.bin/bun", "bench/probe-programs.ts"];
const INSTRUCTIONS_MOST = 250_000;
const TIMEOUT_SECONDS = 300;

interface Probed {
  readonly kernel: string;
  readonly programs: readonly ProbedProgram[];
}

export const programs: Bench = {
  question: "instructions that a kernel's verifier processes",
  async run() {
    const unavailable = virtualMachineUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    const here = Bun.spawnSync(PROBE).stdout.toString();
    const all: Probed[] = [{ kernel: release(), programs: parsed(here) }];
    for (const suite of KERNEL_SUITES) {
      const kernel = await kernelImage(suite);
      const { output } = await runInGuest({ kernel, command: PROBE.join(" "), timeoutSeconds: TIMEOUT_SECONDS });
      all.push({ kernel: kernel.release, programs: parsed(output) });
    }
    return all.flatMap((probed) => probed.programs.map((program) => measurement(probed.kernel, program)));
  },
};

function parsed(output: string): readonly ProbedProgram[] {
  const line = output.split("\n").find((text) => text.startsWith("[{"));
  if (line === undefined) throw new Error(`nothing was probed: ${output}`);
  return JSON.parse(line) as ProbedProgram[];
}

function measurement(kernel: string, { name, probe }: ProbedProgram): Measurement {
  const { error, verifiedInstructions, instructions, totalStates, peakStates } = probe;
  if (error !== null) throw new Error(error);
  return {
    question: `Linux ${kernel}: ${name} (${instructions} instructions, ${totalStates} states, ${peakStates} at once)`,
    unit: "verified",
    ours: figure("floodwall", [verifiedInstructions]),
    rival: null,
    target: `≤ ${INSTRUCTIONS_MOST} of 1,000,000`,
    isMet: verifiedInstructions <= INSTRUCTIONS_MOST,
    isExact: true,
  };
}
