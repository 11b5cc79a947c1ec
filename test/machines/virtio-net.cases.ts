/**
 * A real driver, virtio-net, in native mode, while its operator works on it: runs in a guest of `make kernels`, which has
 * three such devices on one wire. After each intervention capture goes on by itself and accounts for every frame.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { SourceOptions, SourceStatus } from "../../src/dataplane/native.d.ts";
import { accountedFor, CaptureProcess } from "../fixtures/captured.ts";
import { ethernet, FRAME_BYTES_MIN, ip, TCP_FLAGS, tcp } from "../fixtures/frames.ts";
import { evenly, pcapBytes } from "../fixtures/pcap-writer.ts";
import { type Namespace, Namespaces } from "../lab/namespaces.ts";
import { ROOT } from "../source-tree.ts";
import { GUEST_MACS } from "./guest-wire.ts";

const SENDER = join(ROOT, "build/addon/send_frames");
const DRIVER = "/sys/bus/virtio/drivers/virtio_net";
const CASE_MS = 300_000;
const xdp = { xdpMode: "native", cpus: [] } as const;
type Kind = keyof typeof FRAMES;
const KINDS: readonly (readonly [Kind, (device: string) => SourceOptions])[] = [
  ["mirror", (device) => ({ kind: "af_xdp", interface: device, queues: null, zeroCopy: "auto", ...xdp })],
  ["inline", (device) => ({ kind: "xdp_inline", interface: device, sampleEvery: 64, ...xdp })],
];

/** To the far end, as a router sends it, or to another station, as a mirror port gets it. */
function frame({ payload = 0, toStation = false } = {}): Uint8Array {
  const segment = tcp({ flags: TCP_FLAGS.syn, payload: new Uint8Array(payload) });
  const far = GUEST_MACS.far.split(":").map((byte) => Number.parseInt(byte, 16));
  const destination = toStation ? { destination: far } : {};
  return ethernet(ip({ src: "198.51.100.7", dst: "203.0.113.9" }, segment), { padTo: FRAME_BYTES_MIN, ...destination });
}
const FRAMES = {
  mirror: Array.from({ length: 100 }, () => frame()),
  inline: Array.from({ length: 100 }, () => frame({ toStation: true })),
};
const TIMES = 20;

const namespaces = new Namespaces();
let near: Namespace;
let far: Namespace;
let fixed: Namespace;
let device: string;
let directory: string;
let capture: CaptureProcess;
let files = 0;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "floodwall-virtio-"));
  near = place("near");
  far = place("far");
  fixed = place("fixed");
  device = "far0";
});
afterAll(() => {
  namespaces.close();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(async () => {
  capture = new CaptureProcess(far);
  await capture.ask({ op: "setNetworks", networks: ["203.0.113.0/24"] });
});
afterEach(async () => {
  await capture.kill();
  far.run(["ip", "link", "set", device, "mtu", "1500", "up"]);
});

/** Puts a device of the wire into a namespace of its own, as `<name>0`. */
function place(name: keyof typeof GUEST_MACS): Namespace {
  const mac = GUEST_MACS[name];
  const found = readdirSync("/sys/class/net").find(
    (entry) => readFileSync(`/sys/class/net/${entry}/address`, "utf8").trim() === mac,
  );
  if (found === undefined) throw new Error(`no network device has the address ${mac}: run this with \`make kernels\``);
  const namespace = namespaces.add(name);
  for (const argv of [
    ["ip", "link", "set", found, "down"],
    ["ip", "link", "set", found, "netns", namespace.name, "name", `${name}0`],
  ]) {
    const { exitCode, stderr } = Bun.spawnSync(argv, { stderr: "pipe" });
    if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
  }
  namespace.run(["ip", "link", "set", `${name}0`, "up"]);
  return namespace;
}

async function send(frames: readonly Uint8Array[], times = TIMES): Promise<number> {
  const path = join(directory, `${files++}.pcap`);
  writeFileSync(path, pcapBytes(evenly(frames)));
  return Number(near.run([SENDER, "near0", path, String(times)]));
}

/** Sends without a pause until `during` has ended. Returns how many frames were sent. */
async function sending(frames: readonly Uint8Array[], during: () => unknown): Promise<number> {
  const path = join(directory, `${files++}.pcap`);
  writeFileSync(path, pcapBytes(evenly(frames)));
  let isOver = false;
  const traffic = (async () => {
    let sent = 0;
    while (!isOver) {
      const child = Bun.spawn(near.command([SENDER, "near0", path, "5"]), { stdout: "pipe" });
      sent += Number(await child.stdout.text());
      await child.exited;
    }
    return sent;
  })();
  try {
    await during();
  } finally {
    isOver = true;
  }
  return traffic;
}

const isRunning = ({ state }: SourceStatus) => state === "running";

/** Every frame of the next ones is counted, or reported as dropped. */
async function expectAllCounted(source: number, frames: readonly Uint8Array[]): Promise<void> {
  await capture.until(isRunning, source);
  // What an earlier flood has left in rings and queues arrives first.
  let before = accountedFor(await capture.status(source));
  for (;;) {
    await Bun.sleep(300);
    const now = accountedFor(await capture.status(source));
    if (now === before) break;
    before = now;
  }
  const sent = await send(frames);
  const status = await capture.until((now) => accountedFor(now) >= before + sent, source);
  expect(accountedFor(status)).toBe(before + sent);
}

/** An intervention of the operator's; one that the driver does not know is named, and passed over. */
interface Intervention {
  readonly name: string;
  readonly run: () => unknown;
}

function ethtool(...argv: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(far.command(["ethtool", ...argv]), { stderr: "pipe" });
  if (exitCode !== 0) console.log(`the driver refuses ethtool ${argv.join(" ")}: ${stderr.toString().trim()}`);
}

const down = () => far.run(["ip", "link", "set", device, "down"]);
const up = () => far.run(["ip", "link", "set", device, "up"]);
const mtu = (bytes: number) => far.run(["ip", "link", "set", device, "mtu", String(bytes)]);

const INTERVENTIONS: readonly Intervention[] = [
  {
    name: "down and up",
    run: async () => {
      down();
      const status = await capture.until(({ state }) => state === "failed");
      expect(status.error).toContain(`interface ${device} is down: set it up with`);
      up();
    },
  },
  { name: "MTU 1400, then 1500", run: () => [mtu(1400), mtu(1500)] },
  {
    name: "ring of 128, then 256",
    run: () => [ethtool("-G", device, "rx", "128"), ethtool("-G", device, "rx", "256")],
  },
  {
    name: "one queue, then two",
    run: () => [ethtool("-L", device, "combined", "1"), ethtool("-L", device, "combined", "2")],
  },
  {
    name: "receive offloads on, then off",
    run: () => [ethtool("-K", device, "rx-gro-hw", "on"), ethtool("-K", device, "rx-gro-hw", "off")],
  },
  { name: "driver unbound and bound again", run: rebind },
];

/** The device leaves, comes back in the first namespace under a new name, and is put where it was. */
async function rebind(): Promise<void> {
  const bus = basename(realpathSync(far.run(["readlink", "-f", `/sys/class/net/${device}/device`]).trim()));
  writeFileSync(join(DRIVER, "unbind"), bus);
  const status = await capture.until(({ state }) => state === "failed");
  expect(status.error).toContain(`interface ${device} `);
  writeFileSync(join(DRIVER, "bind"), bus);
  for (;;) {
    const name = readdirSync("/sys/class/net").find(
      (entry) => readFileSync(`/sys/class/net/${entry}/address`, "utf8").trim() === GUEST_MACS.far,
    );
    if (name !== undefined) {
      Bun.spawnSync(["ip", "link", "set", name, "netns", far.name, "name", device]);
      break;
    }
    await Bun.sleep(20);
  }
  up();
}

describe.each(KINDS)("virtio-net, %s", (kind, optionsOf) => {
  const frames = FRAMES[kind];

  test(
    "attaches in native mode and accounts for every frame",
    async () => {
      const source = await capture.open(optionsOf(device));
      const status = await capture.until(isRunning, source);
      console.log(`  mode: ${status.mode}`);
      expect(status.mode).toStartWith("native");
      await expectAllCounted(source, frames);
    },
    CASE_MS,
  );

  test.each(INTERVENTIONS.map(({ name, run }) => [name, run] as const))(
    "%s, under traffic",
    async (name, run) => {
      const source = await capture.open(optionsOf(device));
      await capture.until(isRunning, source);
      const sent = await sending(frames, run);
      await expectAllCounted(source, frames);
      const seen = accountedFor(await capture.status(source)) - frames.length * TIMES;
      console.log(`  ${name}: ${seen} of ${sent} frames sent meanwhile were seen`);
      expect(seen).toBeLessThanOrEqual(sent);
      expect(seen).toBeGreaterThan(0);
    },
    CASE_MS,
  );
});

test(
  "frames longer than a buffer are counted whole by a mirror port",
  async () => {
    for (const [namespace, name] of [
      [near, "near0"],
      [far, device],
    ] as const) {
      namespace.run(["ip", "link", "set", name, "mtu", "9000"]);
    }
    const [, optionsOf] = KINDS[0] ?? [];
    const source = await capture.open({ ...(optionsOf?.(device) as SourceOptions), xdpMode: "auto" } as SourceOptions);
    const status = await capture.until(isRunning, source);
    console.log(`  mode: ${status.mode}`);
    const jumbo = frame({ payload: 8000 });
    await send([jumbo, frame()], 50);
    const counted = await capture.until((now) => accountedFor(now) >= 100, source);
    expect(counted.queues.reduce((bytes, queue) => bytes + queue.receivedBytes, 0)).toBe(
      50 * (jumbo.length + FRAME_BYTES_MIN),
    );
    near.run(["ip", "link", "set", "near0", "mtu", "1500"]);
  },
  CASE_MS,
);

test(
  "offloads that cannot be switched off forbid native XDP: said with the reason, and generic works",
  async () => {
    const elsewhere = new CaptureProcess(fixed);
    try {
      await elsewhere.ask({ op: "setNetworks", networks: ["203.0.113.0/24"] });
      const options = { kind: "af_xdp", interface: "fixed0", queues: null, zeroCopy: "auto", cpus: [] } as const;
      const refusal = await elsewhere.refusal({ ...options, xdpMode: "native" });
      console.log(`  ${refusal}`);
      expect(refusal).toMatch(/^native XDP on interface fixed0 failed: .*(gro-hw|lro|offload|no native XDP)/i);
      const source = await elsewhere.open({ ...options, xdpMode: "auto" });
      const { mode } = await elsewhere.until(isRunning, source);
      console.log(`  mode: ${mode}`);
      expect(mode).toStartWith("generic (");
      const sent = await send(FRAMES.mirror);
      await elsewhere.until((now) => accountedFor(now) >= sent, source);
    } finally {
      await elsewhere.kill();
    }
  },
  CASE_MS,
);
