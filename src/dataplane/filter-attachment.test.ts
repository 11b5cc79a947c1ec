/** The filter on interfaces: under traffic, over crashes and restarts, and beside foreign programs. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { accountedFor, answered, PacketProcess } from "../../test/fixtures/dataplane/asked-process.ts";
import { BpfDirectory } from "../../test/fixtures/dataplane/bpf-directory.ts";
import { DEVICE, Veth, vethUnavailable } from "../../test/fixtures/dataplane/veth.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { ethernet, FRAME_BYTES_MIN, ip, udp } from "../../test/fixtures/packets/frames.ts";
import { wideRule } from "../mitigation/rules/rule.ts";
import { FILTER_SCHEMA } from "../native/constants.ts";
import { type FilterOptions, type FilterStatus, readPinnedStatus } from "./kernel-filter.ts";

const SCHEMA = `v${FILTER_SCHEMA}`;
const FLOOD = `${import.meta.dir}/../../build/lab/traffic_source`;
const FOREIGN_PROGRAM = `${import.meta.dir}/../../build/addon/bpf/xdp_mirror.bpf.o`;
const VICTIM = "203.0.113.9";
const SOURCE = "198.51.100.7";
const OTHER = "198.51.100.8";
const HOUR_MS = 3_600_000;
const PAIR = { source: address(SOURCE), victim: address(VICTIM) };

let directory: BpfDirectory;
let veth: Veth;
let filter: PacketProcess;

const frames = (src: string, count = 50) =>
  Array.from({ length: count }, () => ethernet(ip({ src, dst: VICTIM }, udp()), { padTo: FRAME_BYTES_MIN }));
const block = (expiresAtMs = Date.now() + HOUR_MS) => filter.ask("putPairs", [{ ...PAIR, expiresAtMs }]);

async function open(changes: Partial<FilterOptions> = {}): Promise<FilterStatus> {
  const bounds = { maxPairs: 1000, maxRules: 64, maxPrefixes: 64, maxSources: 1000 } as const;
  const options = { pinPath: directory.path, interfaces: [DEVICE], xdpMode: "auto", ...bounds, ...changes } as const;
  return filter.ask("openFilter", options);
}

async function attach(): Promise<FilterStatus> {
  return filter.ask("attach");
}

/** A new process that replaces the killed one. */
async function restart(): Promise<void> {
  await filter.kill();
  filter = new PacketProcess(veth.far);
}

/** Counts, beside the filter, what passes it. */
async function watchPassed(): Promise<PacketProcess> {
  const behind = new PacketProcess(veth.far);
  await behind.ask("setNetworks", ["203.0.113.0/24"]);
  await behind.open({ kind: "pcap_live", interface: DEVICE, cpus: [] });
  return behind;
}

const droppedSources = (status: FilterStatus) => status.verdicts.drop_source.packets;

describe.skipIf(vethUnavailable !== null)(`on a veth${vethUnavailable === null ? "" : ` (${vethUnavailable})`}`, () => {
  beforeEach(() => {
    directory = new BpfDirectory();
    veth = new Veth();
    filter = new PacketProcess(veth.far);
  });
  afterEach(async () => {
    await filter.kill();
    veth.close();
    directory.close();
  });

  test("drops what is blocked before the network stack sees it, and passes the rest", async () => {
    await open();
    await block();
    expect((await attach()).interfaces).toEqual([{ name: DEVICE, state: "attached", mode: "native", error: null }]);
    const behind = await watchPassed();
    try {
      await veth.send(frames(SOURCE));
      await veth.send(frames(OTHER));
      const status = await filter.untilFilter((now) => now.verdicts.pass_default.packets === 50);
      expect(droppedSources(status)).toBe(50);
      expect(status.pairRows).toMatchObject([{ ...PAIR, packets: 50, bytes: 50 * FRAME_BYTES_MIN }]);
      const seen = await behind.until((now) => accountedFor(now) >= 50);
      expect(accountedFor(seen)).toBe(50);
    } finally {
      await behind.kill();
    }
  });

  test.each(["alone", "counting"])(
    "not one packet gets through a kill -9 and the next start (%s)",
    async (how) => {
      const count = () => (how === "counting" ? filter.ask("count", DEVICE, ["203.0.113.0/24"]) : undefined);
      await open();
      await block();
      await attach();
      await count();
      const behind = await watchPassed();
      const dst = ["--dst", VICTIM, "--src", SOURCE];
      const argv = [FLOOD, "--dev", DEVICE, ...dst, "--pps", "2000", "--path", "socket", "--seconds", "60"];
      const flood = Bun.spawn(veth.near.command(argv), { stdout: "pipe", stderr: "inherit" });
      try {
        await filter.untilFilter((now) => droppedSources(now) > 0);
        await restart();
        expect((await open()).origin).toBe("adopted");
        const before = droppedSources(await filter.ask("filterStatus"));
        await attach();
        await count();
        await filter.untilFilter((now) => droppedSources(now) > before);
        await filter.ask("closeFilter", "keep");
        // Until here, however long it took.
        flood.kill("SIGTERM");
        const { packets } = JSON.parse(await new Response(flood.stdout).text()) as { packets: number };
        const pinned = await answered(
          () => readPinnedStatus(directory.path),
          ({ verdicts }) => verdicts.drop_source.packets >= packets,
        );
        expect(pinned).toMatchObject({ state: "healthy", pairs: 1, isOwned: false });
        expect(pinned.verdicts.drop_source.packets).toBe(packets);
        await veth.send(frames(OTHER));
        const seen = await behind.until((now) => accountedFor(now) >= 50);
        expect(accountedFor(seen)).toBe(50);
      } finally {
        flood.kill();
        await flood.exited;
        await behind.kill();
      }
    },
    60_000,
  );

  test("a block expires in time without its process, not before", async () => {
    await open();
    await block();
    await attach();
    await veth.send(frames(SOURCE));
    await filter.untilFilter((now) => droppedSources(now) === 50);
    // From now on, however long it took so far.
    const expiresAtMs = Date.now() + 1500;
    await block(expiresAtMs);
    await filter.kill();
    for (let sent = 51; ; sent++) {
      const sentAt = Date.now();
      await veth.send(frames(SOURCE, 1));
      const { verdicts } = await answered(
        () => readPinnedStatus(directory.path),
        (now) => now.verdicts.drop_source.packets + now.verdicts.pass_default.packets >= sent,
      );
      if (verdicts.pass_default.packets > 0) break;
      // The dropped packets were sent before the expiry.
      expect(sentAt).toBeLessThanOrEqual(expiresAtMs);
    }
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAtMs - 1);
    expect(readPinnedStatus(directory.path).pairs).toBe(0);
  });

  test("stays attached while the process has no descriptor left", async () => {
    await open();
    await block();
    await attach();
    await filter.ask("count", DEVICE, ["203.0.113.0/24"]);
    const before = veth.attachedProgram();
    // More than two checks of the interface.
    await filter.withoutDescriptors(() => Bun.sleep(2500));
    expect(veth.attachedProgram()).toBe(before);
    expect((await filter.ask("filterStatus")).interfaces).toMatchObject([{ state: "attached", error: null }]);
    await answered(
      () => filter.status(),
      ({ state }) => state === "running",
    );
    await veth.send(frames(SOURCE));
    await filter.untilFilter((now) => droppedSources(now) === 50);
  });

  test("names a foreign program, never replaces it, and attaches when it is gone", async () => {
    veth.far.run(["ip", "link", "set", DEVICE, "xdpdrv", "obj", FOREIGN_PROGRAM, "sec", "xdp"]);
    const holder = veth.attachedProgram();
    await open();
    const [port] = (await attach()).interfaces;
    expect(port).toMatchObject({ state: "failed", mode: null });
    expect(port?.error).toMatch(
      /^XDP program \d+ \(xdp_mirror\) is attached to interface veth and is not replaced: stop its owner, or detach it/,
    );
    expect(veth.attachedProgram()).toBe(holder);
    veth.far.run(["ip", "link", "set", DEVICE, "xdp", "off"]);
    await filter.untilFilter(({ interfaces }) => interfaces[0]?.state === "attached");
    expect(veth.attachedProgram()).toContain("xdp_filter");
  });

  test("comes back when its interface is deleted and made again", async () => {
    await open();
    await block();
    await attach();
    veth.far.run(["ip", "link", "delete", DEVICE]);
    const gone = await filter.untilFilter(({ interfaces }) => interfaces[0]?.state === "failed");
    expect(gone.interfaces[0]?.error).toBe(
      `interface ${DEVICE} does not exist: create it, or correct its name in dataplane.interfaces`,
    );
    veth.connect();
    await filter.untilFilter(({ interfaces }) => interfaces[0]?.state === "attached" && interfaces[0].error === null);
    await veth.send(frames(SOURCE));
    await filter.untilFilter((now) => droppedSources(now) === 50);
  });

  test("other sizes create new maps: the old ones stay in force until the new ones are filled", async () => {
    await open();
    await block();
    await attach();
    await restart();
    expect((await open({ maxRules: 128 })).origin).toBe("replaced");
    await veth.send(frames(SOURCE));
    await answered(
      () => readPinnedStatus(directory.path),
      ({ verdicts }) => verdicts.drop_source.packets === 50,
    );
    await block();
    const rule = wideRule(prefix("203.0.113.10/32"), { kind: "discard" });
    await filter.ask("setRules", [{ id: "a", rule, expiresAtMs: Date.now() + HOUR_MS }]);
    expect(await attach()).toMatchObject({ maxRules: 128, pairs: 1, rules: 1 });
    await veth.send(frames(SOURCE));
    await filter.untilFilter((now) => droppedSources(now) === 50);
    expect(readdirSync(directory.path).sort()).toEqual(["links", SCHEMA]);
    expect(readPinnedStatus(directory.path)).toMatchObject({ state: "healthy", schemas: [SCHEMA], pairs: 1, rules: 1 });
  });

  test("maps of another schema are recognized and removed once ours are in force", async () => {
    await open();
    await attach();
    await filter.ask("closeFilter", "detach");
    mkdirSync(`${directory.path}/v0`);
    expect(readPinnedStatus(directory.path).state).toBe("wrong_schema");
    await restart();
    expect((await open()).origin).toBe("replaced");
    expect(existsSync(`${directory.path}/v0`)).toBe(true);
    await attach();
    expect(readPinnedStatus(directory.path)).toMatchObject({ state: "healthy", schemas: [SCHEMA] });
  });

  test("counts and filters in one program; without the counter the filter stays", async () => {
    await open();
    await block();
    await attach();
    await filter.ask("count", DEVICE, ["203.0.113.0/24"]);
    expect(await filter.status()).toMatchObject({ state: "running", mode: "native, filtering, inline, no samples" });
    expect(veth.attachedProgram()).toContain("xdp_inline");
    await veth.send(frames(SOURCE));
    await veth.send(frames(OTHER));
    const status = await filter.untilFilter((now) => now.verdicts.pass_default.packets === 50);
    expect(droppedSources(status)).toBe(50);
    // Dropped packets are counted too: detection still sees the attack.
    await answered(
      () => filter.status(),
      ({ queues }) => queues[0]?.receivedPackets === 100,
    );
    await filter.ask("closeSource", 0);
    expect(veth.attachedProgram()).toContain("xdp_filter");
    await veth.send(frames(SOURCE));
    await filter.untilFilter((now) => droppedSources(now) === 100);
  });

  test("leaves nothing when it is to detach, and everything when it is to keep", async () => {
    expect(readPinnedStatus(directory.path).state).toBe("missing");
    await open();
    await attach();
    await filter.ask("closeFilter", "keep");
    expect(veth.attachedProgram()).toContain("xdp_filter");
    expect(readPinnedStatus(directory.path).state).toBe("healthy");
    await open();
    await attach();
    await filter.ask("closeFilter", "detach");
    expect(veth.attachedProgram()).toBeNull();
    expect(readPinnedStatus(directory.path)).toMatchObject({ state: "missing", links: [] });
  });

  test("an interface that is no longer configured is let go at the next start", async () => {
    veth.connect("second.7");
    await open({ interfaces: [DEVICE, "second.7"] });
    await attach();
    expect(veth.attachedProgram("second.7")).toContain("xdp_filter");
    await restart();
    await open();
    await attach();
    expect(veth.attachedProgram("second.7")).toBeNull();
    expect(veth.attachedProgram()).toContain("xdp_filter");
  });

  test("generic mode where it is configured, and where the link was native before", async () => {
    await open();
    await attach();
    await restart();
    await open({ xdpMode: "generic" });
    expect((await attach()).interfaces).toEqual([{ name: DEVICE, state: "attached", mode: "generic", error: null }]);
    await block();
    await veth.send(frames(SOURCE));
    await filter.untilFilter((now) => droppedSources(now) === 50);
  });
});
