/**
 * `make kernels`: stock kernels of Debian under QEMU, and on each of them our programs, the labs, an inline box and a real
 * driver. `--short` is the form of the test run: on the oldest kernel, whose verifier is the strictest, every program, of
 * the inline counter's 32 variants eight, and the packets that rest on what the kernel gives a program.
 */
import { parseArgs } from "node:util";
import { bunTest, doctest, reasons } from "../run-report.ts";
import { GuestWire } from "./guest-wire.ts";
import {
  KERNEL_SUITES,
  type KernelImage,
  type KernelSuite,
  kernelImage,
  virtualMachineUnavailable,
} from "./kernel-image.ts";
import { type Row, tableOf } from "./step-table.ts";
import { runInGuest } from "./virtual-machine.ts";

interface Step {
  readonly name: string;
  readonly command: string;
  readonly timeoutSeconds: number;
  /** With three virtio-net devices. */
  readonly hasWire?: boolean;
}

const SHORT_SUITE: KernelSuite = "bookworm";
const BUN = "node_modules/.bin/bun";
/** How much slower than this machine a guest may be. */
const ENVIRONMENT = { TEST_PATIENCE: "6", NO_COLOR: "1", ASAN_OPTIONS: "detect_leaks=1" };
const BUN_TEST = `${BUN} test --timeout 360000`;

/** What the machine's compiler makes. */
const UNIT = "build/addon/unit -nc -d";
/** What Debian 13's makes of the programs, which the verifier of an older kernel reads for minutes. */
const OF_DEBIAN_13 = "build/addon/programs_clang-19 -nc";

/** Of each program the cases that rest on what the kernel gives it; what a program makes of packets any kernel shows. */
const SHORT_CASES = [
  ...["DNS: an unknown*", "forwarding: a packet leaves*", "forwarding: follows*", "forwarding: of a kernel*"],
  ...["icmp: neighbor*", "limit of sources: each has its own*", "tunnels: the longest*", "tunnels: the kernel*"],
  ...["xdp filter: a pair*", "xdp filter: a list*", "xdp inline: counts every*", "xdp inline: replaces*"],
  ...["validation: an unknown*", "validation: a source is known*", "validation: connections*"],
];

const SHORT_STEP: Step = {
  name: "programs and packets",
  // The verifier is busy for half of the time: the guest has two CPUs.
  command: `modprobe veth && (${UNIT} -tc='program*' -tce='*in all others*' & verifier=$!; ${UNIT} -tc='${SHORT_CASES.join(",")}'; packets=$?; wait $verifier && exit $packets)`,
  // The guest is emulated, and runs beside other tests.
  timeoutSeconds: 1800,
};

const STEPS: readonly Step[] = [
  {
    ...SHORT_STEP,
    command: `modprobe veth && ${OF_DEBIAN_13} && ${UNIT} -tc='program*,xdp*,validation*,limit*,DNS*,questions*,icmp*,inline reader*,forwarding*,tunnels*,named sets: the*' -tce='*for a while*'`,
  },
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
  const suites = (values.short ? [SHORT_SUITE] : KERNEL_SUITES).filter((suite) => (values.suite ?? suite) === suite);
  const kernels = await Promise.all(suites.map(kernelImage));
  const rows: Row[] = [];
  const steps = values.short ? [SHORT_STEP] : STEPS.filter(({ name }) => (values.step ?? name) === name);
  for (const kernel of kernels) for (const step of steps) rows.push(await run(kernel, step));
  console.log(`\n${tableOf(rows)}`);
  return rows.every(({ ok }) => ok) ? 0 : 1;
}

async function run(kernel: KernelImage, { name, command, timeoutSeconds, hasWire = false }: Step): Promise<Row> {
  console.log(`${kernel.release}: ${name}`);
  const wire = hasWire ? new GuestWire() : undefined;
  try {
    const { exitCode, seconds, output } = await runInGuest({
      ...{ kernel, command, timeoutSeconds, wire, environment: ENVIRONMENT },
      onLine: values.short ? () => {} : (line) => console.log(`${kernel.release} | ${line}`),
    });
    if (exitCode !== 0 && values.short) console.log(`${output.slice(-8000)}\n${reasons(output).join("\n")}`);
    // As doctest or Bun's runner counts them; none where the step is one test.
    const counts = doctest(output) ?? bunTest(output);
    const remark = [
      ...(exitCode === null ? ["did not end"] : []),
      ...(counts === null ? [] : [`${counts.passed} passed, ${counts.failed} failed`]),
    ];
    const row = { suite: kernel.release, part: "kernel", step: name, ok: exitCode === 0, seconds };
    return { ...row, remark: remark.join(", ") };
  } finally {
    wire?.close();
  }
}
