/**
 * A real driver, virtio-net, in native mode, while its operator works on it: runs in a guest of `make kernels`, which has
 * three such devices on one wire. After each intervention capture goes on by itself and accounts for every frame.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { release, tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { SourceOptions, SourceStatus } from "../../src/dataplane/native.d.ts";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { accountedFor, PacketProcess } from "../fixtures/dataplane/asked-process.ts";
import { runCommand } from "../fixtures/run-command.ts";
import { eventually } from "../fixtures/service.ts";
import { type Namespace, Namespaces } from "../lab/namespaces.ts";
import { ROOT } from "../source-tree.ts";
import { deviceOf, frameToFar, GUEST_MACS } from "./guest-wire.ts";

const SENDER = join(ROOT, "build/addon/send_frames");
const DRIVER = "/sys/bus/virtio/drivers/virtio_net";
setDefaultTimeout(300_000);
const xdp = { xdpMode: "native", cpus: [] } as const;
type Kind = keyof typeof FRAMES;
const KINDS: readonly (readonly [Kind, (device: string) => SourceOptions])[] = [
  ["mirror", (device) => ({ kind: "af_xdp", interface: device, queues: null, zeroCopy: "auto", ...xdp })],
  ["inline", (device) => ({ kind: "xdp_inline", interface: device, sampleEvery: 64, ...xdp })],
];

const SOURCE = "198.51.100.7";
const FRAMES = {
  mirror: Array.from({ length: 100 }, () => frameToFar(SOURCE, { toStation: false })),
  inline: Array.from({ length: 100 }, () => frameToFar(SOURCE)),
};
const BATCHES = 20;
const [major = 0, minor = 0] = release().split(".").map(Number);
const hasPieces = major > 6 || (major === 6 && minor >= 6);

const namespaces = new Namespaces();
let near: Namespace;
let far: Namespace;
let fixed: Namespace;
let device: string;
let directory: string;
let capture: PacketProcess;
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
  capture = new PacketProcess(far);
  await capture.ask("setNetworks", ["203.0.113.0/24"]);
});
afterEach(async () => {
  await capture.kill();
  far.run(["ip", "link", "set", device, "mtu", "1500", "up"]);
});

/** Puts a device of the wire into a namespace of its own, as `<name>0`. */
function place(name: keyof typeof GUEST_MACS): Namespace {
  const namespace = namespaces.add(name);
  move(GUEST_MACS[name], namespace, `${name}0`);
  return namespace;
}

function move(mac: string, namespace: Namespace, name: string): void {
  const found = deviceOf(mac);
  runCommand(["ip", "link", "set", found, "down"]);
  runCommand(["ip", "link", "set", found, "netns", namespace.name, "name", name]);
  namespace.run(["ip", "link", "set", name, "up"]);
}

/** Returns how many were sent. */
async function send(frames: readonly Uint8Array[], times = 1): Promise<number> {
  const path = join(directory, `${files++}.pcap`);
  writeFileSync(path, pcapBytes(evenly(frames)));
  const child = Bun.spawn(near.command([SENDER, "near0", path, String(times)]), { stdout: "pipe", stderr: "inherit" });
  const sent = Number(await child.stdout.text());
  rmSync(path);
  if ((await child.exited) !== 0) throw new Error("the sender failed");
  return sent;
}

/** Sends without a pause until `during` has ended, which begins when frames arrive. Returns how many were sent. */
async function sending(source: number, frames: readonly Uint8Array[], during: () => unknown): Promise<number> {
  let isOver = false;
  const traffic = (async () => {
    let sent = 0;
    while (!isOver) sent += await send(frames, 5);
    return sent;
  })();
  try {
    await capture.until((now) => accountedFor(now) > 0, source);
    await during();
  } finally {
    isOver = true;
  }
  return traffic;
}

const isRunning = ({ state }: SourceStatus) => state === "running";

/**
 * Every frame of the next ones is counted, or reported as dropped: a hundred at a time, since a burst that is longer than
 * the device's ring is lost before the guest has seen it. Returns what was accounted for before them, of a batch that is
 * sent first and of all earlier traffic.
 */
async function expectAllCounted(source: number, frames: readonly Uint8Array[]): Promise<number> {
  await capture.until(isRunning, source);
  // What waited for a device that was down may wait on, until a later frame has the device look again.
  await send(frames);
  const before = await settled(source);
  for (let batch = 1; batch <= BATCHES; batch++) {
    await send(frames);
    const wanted = before + batch * frames.length;
    const status = await capture.until((now) => accountedFor(now) >= wanted, source);
    expect(accountedFor(status)).toBe(wanted);
  }
  return before;
}

/** What earlier traffic has left in rings and queues arrives first. Returns how many frames are accounted for then. */
async function settled(source: number): Promise<number> {
  for (let before = -1; ; ) {
    const now = accountedFor(await capture.status(source));
    if (now === before) return now;
    before = now;
    await Bun.sleep(1000);
  }
}

/** What the driver does not know is named, and passed over. */
function ethtool(...argv: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(far.command(["ethtool", ...argv]), { stderr: "pipe" });
  if (exitCode !== 0) console.log(`the driver refuses ethtool ${argv.join(" ")}: ${stderr.toString().trim()}`);
}

const setLink = (...argv: string[]) => far.run(["ip", "link", "set", device, ...argv]);

/** Interventions of the operator's. */
const INTERVENTIONS: Readonly<Record<string, () => unknown>> = {
  "down and up": async () => {
    setLink("down");
    const status = await capture.until(({ state }) => state === "failed");
    expect(status.error).toContain(`interface ${device} is down: set it up with`);
    setLink("up");
  },
  "MTU 1400, then 1500": () => [setLink("mtu", "1400"), setLink("mtu", "1500")],
  "ring of 128, then 256": () => [ethtool("-G", device, "rx", "128"), ethtool("-G", device, "rx", "256")],
  "one queue, then two": () => [ethtool("-L", device, "combined", "1"), ethtool("-L", device, "combined", "2")],
  "receive offloads on, then off": () => [
    ethtool("-K", device, "rx-gro-hw", "on"),
    ethtool("-K", device, "rx-gro-hw", "off"),
  ],
  "driver unbound and bound again": rebind,
};

/** The device leaves, comes back in the first namespace under a new name, and is put where it was. */
async function rebind(): Promise<void> {
  const bus = basename(realpathSync(far.run(["readlink", "-f", `/sys/class/net/${device}/device`]).trim()));
  writeFileSync(join(DRIVER, "unbind"), bus);
  const status = await capture.until(({ state }) => state === "failed");
  expect(status.error).toContain(`interface ${device} `);
  writeFileSync(join(DRIVER, "bind"), bus);
  await eventually(() => deviceOf(GUEST_MACS.far) !== "", "the device did not come back", 60_000);
  move(GUEST_MACS.far, far, device);
}

describe.each(KINDS)("virtio-net, %s", (kind, optionsOf) => {
  const frames = FRAMES[kind];

  test("attaches in native mode and accounts for every frame", async () => {
    const source = await capture.open(optionsOf(device));
    const status = await capture.until(isRunning, source);
    console.log(`  mode: ${status.mode}`);
    expect(status.mode).toStartWith("native");
    await expectAllCounted(source, frames);
  });

  test.each(Object.entries(INTERVENTIONS))("%s, under traffic", async (name, run) => {
    const source = await capture.open(optionsOf(device));
    await capture.until(isRunning, source);
    const sent = (await sending(source, frames, run)) + frames.length;
    const seen = await expectAllCounted(source, frames);
    console.log(`  ${name}: ${seen} of ${sent} frames sent meanwhile were seen`);
    expect(seen).toBeLessThanOrEqual(sent);
    expect(seen).toBeGreaterThan(0);
  });
});

test("frames longer than a buffer are counted whole by a mirror port, or reported as dropped", async () => {
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
  const jumbo = frameToFar(SOURCE, { toStation: false, payload: 8000 });
  await send([jumbo], 50);
  const { queues } = await capture.until((now) => accountedFor(now) >= 50, source);
  const received = queues.reduce((sum, queue) => sum + queue.receivedPackets, 0);
  console.log(`  ${received} of 50 received, the others reported as dropped`);
  expect(queues.reduce((bytes, queue) => bytes + queue.receivedBytes, 0)).toBe(received * jumbo.length);
  // Linux 6.6 is the first that hands frames over in pieces.
  expect(received).toBe(hasPieces ? 50 : 0);
  near.run(["ip", "link", "set", "near0", "mtu", "1500"]);
});

test("offloads that cannot be switched off forbid native XDP: said with the reason, and generic works", async () => {
  const elsewhere = new PacketProcess(fixed);
  try {
    await elsewhere.ask("setNetworks", ["203.0.113.0/24"]);
    const options = { kind: "af_xdp", interface: "fixed0", queues: null, zeroCopy: "auto", cpus: [] } as const;
    const refusal = await elsewhere.refusal({ ...options, xdpMode: "native" });
    console.log(`  ${refusal}`);
    expect(refusal).toMatch(
      /^native XDP on interface fixed0 failed: the driver virtio_net refused .*: the host merges frames .*: at the host, QEMU/,
    );
    const source = await elsewhere.open({ ...options, xdpMode: "auto" });
    const { mode } = await elsewhere.until(isRunning, source);
    console.log(`  mode: ${mode}`);
    expect(mode).toStartWith("generic (");
    const sent = await send(FRAMES.mirror);
    await elsewhere.until((now) => accountedFor(now) >= sent, source);
  } finally {
    await elsewhere.kill();
  }
});
