/**
 * `make kernels`: stock kernels of Debian under QEMU, and on each of them our programs, the labs, an inline box and a real
 * driver. `--short` is the form of the test run: every program in every variant, and packets of every kind through them.
 */
import { parseArgs } from "node:util";
import { bunTest, doctest } from "../run-report.ts";
import { GuestWire } from "./guest-wire.ts";
import {
  KERNEL_SUITES,
  type KernelImage,
  type KernelSuite,
  kernelImage,
  virtualMachineUnavailable,
} from "./kernel-image.ts";
import { type Row, tableOf } from "./step-table.ts";
import { type GuestResult, runInGuest } from "./virtual-machine.ts";

interface Step {
  readonly name: string;
  readonly command: string;
  readonly timeoutSeconds: number;
  /** With three virtio-net devices. */
  readonly hasWire?: boolean;
}

/** What the test run's time allows; the newest kernel is for the long form. */
const SHORT_SUITES: readonly KernelSuite[] = ["bookworm", "trixie"];
const BUN = "node_modules/.bin/bun";
/** How much slower than this machine a guest may be. */
const ENVIRONMENT = { TEST_PATIENCE: "6", NO_COLOR: "1", ASAN_OPTIONS: "detect_leaks=1" };
const BUN_TEST = `${BUN} test --timeout 360000`;

const SHORT_STEP: Step = {
  name: "programs and packets",
  // A million flows are about memory, not about kernels.
  command: "build/addon/unit -nc -tc='program*,xdp*,inline reader*' -tce='*million*'",
  timeoutSeconds: 900,
};

const STEPS: readonly Step[] = [
  { ...SHORT_STEP, command: "build/addon/unit -nc -tc='program*,xdp*,inline reader*'" },
  { name: "the lab", command: `${BUN} test/lab/demo/demo.ts --once`, timeoutSeconds: 900 },
  { name: "the scrubbing lab", command: `${BUN} test/lab/scrub/scrub-demo.ts --seconds 25`, timeoutSeconds: 900 },
  { name: "an inline box", command: `${BUN_TEST} test/scenario/inline.test.ts`, timeoutSeconds: 900 },
  {
    name: "XDP on veth",
    command: `${BUN_TEST} src/dataplane/source-faults.test.ts src/dataplane/source-contract.test.ts src/dataplane/filter-attachment.test.ts`,
    timeoutSeconds: 1800,
  },
  {
    name: "virtio-net",
    command: `modprobe virtio_net && ${BUN_TEST} ./test/machines/virtio-net.cases.ts`,
    timeoutSeconds: 1800,
    hasWire: true,
  },
];

const { values } = parseArgs({
  options: { short: { type: "boolean", default: false }, suite: { type: "string" }, step: { type: "string" } },
});
const unavailable = virtualMachineUnavailable();
if (unavailable === null) process.exit(await main());
console.log(`skipped: stock kernels: ${unavailable}`);

async function main(): Promise<number> {
  const suites = (values.short ? SHORT_SUITES : KERNEL_SUITES).filter((suite) => (values.suite ?? suite) === suite);
  const steps = values.short ? [SHORT_STEP] : STEPS.filter(({ name }) => (values.step ?? name) === name);
  const kernels = await Promise.all(suites.map(kernelImage));
  const rows: Row[] = [];
  if (values.short) {
    // Side by side: their work is of one thread each.
    rows.push(...(await Promise.all(kernels.map((kernel) => inTurn(kernel, steps)))).flat());
  } else {
    for (const kernel of kernels) rows.push(...(await inTurn(kernel, steps)));
  }
  console.log(`\n${tableOf(rows).join("\n")}`);
  return rows.every(({ ok }) => ok) ? 0 : 1;
}

async function inTurn(kernel: KernelImage, steps: readonly Step[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const step of steps) rows.push(rowOf(kernel, step.name, await run(kernel, step)));
  return rows;
}

async function run(kernel: KernelImage, { name, command, timeoutSeconds, hasWire }: Step): Promise<GuestResult> {
  console.log(`${kernel.release}: ${name}`);
  const wire = hasWire === true ? new GuestWire() : null;
  try {
    const result = await runInGuest({
      kernel,
      command,
      environment: ENVIRONMENT,
      timeoutSeconds,
      ...(wire === null ? {} : { wire }),
      onLine: values.short ? () => {} : (line) => console.log(`${kernel.release} | ${line}`),
    });
    if (result.exitCode !== 0 && values.short) console.log(result.output.slice(-8000));
    return result;
  } finally {
    wire?.close();
  }
}

function rowOf({ release }: KernelImage, step: string, { exitCode, seconds, output }: GuestResult): Row {
  // As doctest or Bun's runner counts them; none where the step is one test.
  const counts = doctest(output) ?? bunTest(output);
  const remarks = [
    ...(exitCode === null ? ["did not end"] : []),
    ...(counts === null ? [] : [`${counts.passed} passed, ${counts.failed} failed`]),
  ];
  return { suite: release, part: "kernel", step, ok: exitCode === 0, seconds, remark: remarks.join(", ") };
}
