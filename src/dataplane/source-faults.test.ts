/** Faults of live sources: each names its cause and remedy, and recovers. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { release } from "node:os";
import { accountedFor, PacketProcess } from "../../test/fixtures/dataplane/asked-process.ts";
import { DEVICE, Veth, vethUnavailable } from "../../test/fixtures/dataplane/veth.ts";
import { ethernet, FRAME_BYTES_MIN, ip, TCP_FLAGS, tcp } from "../../test/fixtures/packets/frames.ts";
import type { SourceOptions } from "./native.d.ts";

const afXdp = { kind: "af_xdp", interface: DEVICE, queues: null, xdpMode: "auto", zeroCopy: "auto", cpus: [] } as const;
const pcapLive = { kind: "pcap_live", interface: DEVICE, cpus: [] } as const;
const KINDS: readonly (readonly [string, SourceOptions])[] = [
  ["AF_XDP", afXdp],
  ["libpcap", pcapLive],
];

const [major = 0, minor = 0] = release().split(".").map(Number);
const takesPieces = major > 6 || (major === 6 && minor >= 6);

const FOREIGN_PROGRAM = `${import.meta.dir}/../../build/addon/bpf/xdp_mirror.bpf.o`;

const FLOOD = `${import.meta.dir}/../../build/lab/traffic_source`;

interface FloodReport {
  readonly packets: number;
  /** Not accepted by the far end's queue. */
  readonly device_drops: number;
}

const frame = (payload = 0) =>
  ethernet(
    ip({ src: "198.51.100.7", dst: "203.0.113.9" }, tcp({ flags: TCP_FLAGS.syn, payload: new Uint8Array(payload) })),
    { padTo: FRAME_BYTES_MIN },
  );
const FRAMES = Array.from({ length: 100 }, () => frame());

let veth: Veth;
let capture: PacketProcess;

async function startCapture(): Promise<void> {
  capture = new PacketProcess(veth.far);
  await capture.ask("setNetworks", ["203.0.113.0/24"]);
}

/** Number of requests for promiscuous mode on the device. */
function promiscuity(): number {
  return Number(/promiscuity (\d+)/.exec(veth.far.run(["ip", "-details", "link", "show", DEVICE]))?.[1]);
}

describe.skipIf(vethUnavailable !== null)(`faults${vethUnavailable === null ? "" : ` (${vethUnavailable})`}`, () => {
  beforeEach(async () => {
    veth = new Veth();
    await startCapture();
  });
  afterEach(async () => {
    await capture.kill();
    veth.close();
  });

  describe.each(KINDS)("%s", (_, options) => {
    test("accounts for every frame that was sent, counted or dropped", async () => {
      await capture.open(options);
      const sent = await veth.send(FRAMES, { times: 300 });
      const status = await capture.until((now) => accountedFor(now) >= sent);
      expect(accountedFor(status)).toBe(sent);
    });

    test("reports what it lost while its process stood still", async () => {
      const source = await capture.open(options);
      let sent = 0;
      await capture.stalled(async () => {
        sent = await veth.send(FRAMES, { times: 2000 });
      });
      const status = await capture.until((now) => accountedFor(now) >= sent, source);
      const [queue] = status.queues;
      expect(accountedFor(status)).toBe(sent);
      expect(queue?.receivedPackets).toBeGreaterThan(0);
      expect(sent - (queue?.receivedPackets ?? 0)).toBeGreaterThan(0);
    });

    test("without permission names what it needs", async () => {
      // Keeps the user root, so that it can read this folder.
      const without = ["setpriv", "--bounding-set=-all,+dac_read_search", "--inh-caps=-all"];
      const unprivileged = new PacketProcess(veth.far, without);
      try {
        expect(await unprivileged.refusal(options)).toMatch(
          /^no permission to .*: run as root, or give the service CAP_/,
        );
      } finally {
        await unprivileged.kill();
      }
    });

    test("reports a link that is down with its remedy, and goes on when it is up", async () => {
      await capture.open(options);
      veth.far.run(["ip", "link", "set", DEVICE, "down"]);
      const down = await capture.until(({ state }) => state === "failed");
      expect(down.error).toBe(`interface ${DEVICE} is down: set it up with \`ip link set ${DEVICE} up\``);
      veth.far.run(["ip", "link", "set", DEVICE, "up"]);
      await capture.until(({ state }) => state === "running");
      const before = accountedFor(await capture.status());
      await veth.send(FRAMES);
      await capture.until((now) => accountedFor(now) === before + FRAMES.length);
    });

    test("goes on while its process has no descriptor left", async () => {
      const source = await capture.open(options);
      const before = veth.attachedProgram();
      await capture.withoutDescriptors(() => Bun.sleep(2500));
      expect(veth.attachedProgram()).toBe(before);
      await veth.send(FRAMES);
      const status = await capture.until((now) => accountedFor(now) >= FRAMES.length, source);
      expect(status).toMatchObject({ state: "running", error: null });
    });

    test("reports a far end that is gone", async () => {
      await capture.open(options);
      veth.near.run(["ip", "link", "set", DEVICE, "down"]);
      const down = await capture.until(({ state }) => state === "failed");
      expect(down.error).toBe(`interface ${DEVICE} has no carrier: check the cable and the far end`);
    });

    test("comes back when its interface is deleted and made again, and keeps its counts", async () => {
      await capture.open(options);
      await veth.send(FRAMES);
      await capture.until((now) => accountedFor(now) === FRAMES.length);
      veth.far.run(["ip", "link", "delete", DEVICE]);
      const gone = await capture.until(({ state }) => state === "failed");
      expect(gone.error).toContain(`interface ${DEVICE} `);
      expect(gone.queues[0]?.countedPackets).toBe(FRAMES.length);
      veth.connect();
      await capture.until(({ state }) => state === "running");
      await veth.send(FRAMES);
      const back = await capture.until((now) => accountedFor(now) === 2 * FRAMES.length);
      expect(back.queues[0]?.countedPackets).toBe(2 * FRAMES.length);
    });

    test("refuses an interface that does not exist and names it", async () => {
      expect(await capture.refusal({ ...options, interface: "nosuch" } as SourceOptions)).toContain(
        "interface nosuch does not exist: create it, or correct its name in capture.interfaces",
      );
    });

    test("refuses a CPU that is not there and says where to correct it", async () => {
      expect(await capture.refusal({ ...options, cpus: [1000] } as SourceOptions)).toContain(
        "CPU 1000 is not available to this process: correct capture.interfaces[].cpus",
      );
    });

    test("leaves nothing attached when it is closed, and opens again at once", async () => {
      const source = await capture.open(options);
      await capture.ask("closeSource", source);
      expect(veth.attachedProgram()).toBeNull();
      const again = await capture.open(options);
      await veth.send(FRAMES);
      await capture.until((now) => accountedFor(now) === FRAMES.length, again);
    });
  });

  test("accounts for every frame of a flood that comes faster than it is counted", async () => {
    await capture.open(afXdp);
    const flood = ["--dev", DEVICE, "--dst", "203.0.113.1", "--hosts", "200", "--path", "live", "--pps", "0"];
    const report = JSON.parse(veth.near.run([FLOOD, ...flood, "--seconds", "0.5"])) as FloodReport;
    const arrived = report.packets - report.device_drops;
    expect(arrived).toBeGreaterThan(10_000);
    const status = await capture.until((now) => accountedFor(now) >= arrived);
    expect(accountedFor(status)).toBe(arrived);
    expect(status.queues[0]?.countedPackets).toBe(status.queues[0]?.receivedPackets);
  });

  test("a mirror port takes frames for other stations: its interface is promiscuous while it is open", async () => {
    const source = await capture.open(afXdp);
    expect(promiscuity()).toBe(1);
    await capture.ask("closeSource", source);
    expect(promiscuity()).toBe(0);
  });

  test("kill -9 leaves no program attached and no promiscuous mode", async () => {
    await capture.open(afXdp);
    expect(veth.attachedProgram()).toContain("xdp_mirror");
    await capture.kill();
    expect(veth.attachedProgram()).toBeNull();
    expect(promiscuity()).toBe(0);
    await startCapture();
    await capture.open(afXdp);
  });

  test("counts two interfaces at once, each on its own", async () => {
    veth.connect("second");
    const first = await capture.open(afXdp);
    const second = await capture.open({ ...afXdp, interface: "second", xdpMode: "generic" });
    await veth.send(FRAMES);
    await veth.send(FRAMES.slice(0, 30), { device: "second" });
    const one = await capture.until((now) => accountedFor(now) === 100, first);
    const two = await capture.until((now) => accountedFor(now) === 30, second);
    expect(one.mode).toMatch(/^native, copy mode, 1 queue, (real-time|raised|usual) priority/);
    expect(two.mode).toMatch(/^generic, copy mode, 1 queue, (real-time|raised|usual) priority/);
    expect((await capture.ask("hosts"))["203.0.113.9"]?.pps).toBe(130);
  });

  test.each([
    ["xdpdrv", "xdp"],
    ["xdpgeneric", "xdpgeneric"],
  ])("never replaces another program (%s) and names it", async (how, name) => {
    veth.far.run(["ip", "link", "set", DEVICE, how, "obj", FOREIGN_PROGRAM, "sec", "xdp"]);
    const holder = veth.attachedProgram();
    expect(holder).not.toBeNull();
    for (const xdpMode of ["auto", "native", "generic"] as const) {
      expect(await capture.refusal({ ...afXdp, xdpMode })).toMatch(
        /^XDP program \d+ \(xdp_mirror\) is attached to interface veth and is not replaced: stop its owner/,
      );
    }
    expect(veth.attachedProgram()).toBe(holder);
    veth.far.run(["ip", "link", "set", DEVICE, name, "off"]);
    await capture.open(afXdp);
  });

  test("an inline counter is not even loaded where a foreign program is attached", async () => {
    veth.far.run(["ip", "link", "set", DEVICE, "xdpgeneric", "obj", FOREIGN_PROGRAM, "sec", "xdp"]);
    const inline = { kind: "xdp_inline", interface: DEVICE, xdpMode: "auto", sampleEvery: 256, cpus: [] } as const;
    // Without the permission, an attempt to load would be the reported error.
    const without = ["setpriv", "--bounding-set=-all,+dac_read_search", "--inh-caps=-all"];
    const unprivileged = new PacketProcess(veth.far, without);
    try {
      expect(await unprivileged.refusal(inline)).toMatch(/^XDP program \d+ .*is attached to interface veth/);
    } finally {
      await unprivileged.kill();
    }
  });

  test("opens an interface that is down, says so, and captures once it is up", async () => {
    veth.far.run(["ip", "link", "set", DEVICE, "down"]);
    const status = await capture.status(await capture.open(afXdp));
    expect(status).toMatchObject({ state: "failed", error: expect.stringContaining(`interface ${DEVICE} is down`) });
    veth.far.run(["ip", "link", "set", DEVICE, "up"]);
    await capture.until(({ state }) => state === "running");
    await veth.send(FRAMES);
    await capture.until((now) => accountedFor(now) === FRAMES.length);
  });

  test("libpcap refuses an interface that is down and says how to set it up", async () => {
    veth.far.run(["ip", "link", "set", DEVICE, "down"]);
    expect(await capture.refusal(pcapLive)).toContain(`interface ${DEVICE} is down: set it up with`);
  });

  test("refuses a queue that the interface does not have", async () => {
    expect(await capture.refusal({ ...afXdp, queues: [0, 1] })).toContain(
      `interface ${DEVICE} has no RX queue 1, it has 1: correct its queues`,
    );
  });

  test("refuses zero copy where the driver has none, and where the mode rules it out", async () => {
    expect(await capture.refusal({ ...afXdp, zeroCopy: "on" })).toContain("set zero_copy to auto or false");
    expect(await capture.refusal({ ...afXdp, xdpMode: "generic", zeroCopy: "on" })).toContain(
      `zero copy on interface ${DEVICE} needs native XDP`,
    );
  });

  test("falls back to generic XDP where the driver has no native, and says so", async () => {
    const lo = { ...afXdp, interface: "lo" } as const;
    expect(await capture.refusal({ ...lo, xdpMode: "native" })).toContain(
      "native XDP on interface lo failed: the driver has no native XDP",
    );
    const status = await capture.status(await capture.open(lo));
    expect(status.mode).toStartWith("generic (the driver has no native XDP), copy mode, 1 queue, ");
  });

  test("names what keeps a driver from native XDP, with the command that helps", async () => {
    veth.far.run(["ip", "link", "delete", DEVICE]);
    const far = ["peer", "name", DEVICE, "numtxqueues", "1", "numrxqueues", "1", "netns", veth.far.name];
    veth.near.run(["ip", "link", "add", DEVICE, "numtxqueues", "2", "numrxqueues", "1", "type", "veth", ...far]);
    for (const end of [veth.near, veth.far]) end.run(["ip", "link", "set", DEVICE, "up"]);
    const why =
      "the driver veth refused native XDP (No space left on device): the far end of the veth has more TX queues than this end has RX queues, 1: at the far end `ethtool -L NAME tx 1`";
    expect(await capture.refusal({ ...afXdp, xdpMode: "native" })).toBe(
      `native XDP on interface ${DEVICE} failed: ${why}; xdp_mode auto or generic does without it`,
    );
    const status = await capture.status(await capture.open(afXdp));
    expect(status.mode).toStartWith(`generic (${why}), copy mode, 1 queue, `);
  });

  const longMtu = () => {
    for (const end of [veth.near, veth.far]) end.run(["ip", "link", "set", DEVICE, "mtu", "9000"]);
  };
  const jumbo = frame(8900);

  if (takesPieces) {
    test.each(["native", "generic"] as const)("counts jumbo frames whole, %s", async (xdpMode) => {
      longMtu();
      await capture.open({ ...afXdp, xdpMode });
      await veth.send([jumbo, frame(), jumbo], { times: 50 });
      const status = await capture.until((now) => accountedFor(now) >= 150);
      expect(status.queues[0]).toMatchObject({
        countedPackets: 150,
        receivedBytes: 50 * (2 * jumbo.length + FRAME_BYTES_MIN),
      });
    });
  } else {
    test("before Linux 6.6 a long MTU forbids native XDP, said with its reason, and jumbo frames are reported", async () => {
      longMtu();
      expect(await capture.refusal({ ...afXdp, xdpMode: "native" })).toMatch(
        /the MTU is 9000, and the driver veth takes native XDP up to \d+: `ip link set veth mtu \d+`/,
      );
      await capture.open(afXdp);
      await veth.send([jumbo, frame()], { times: 50 });
      const status = await capture.until((now) => accountedFor(now) >= 100);
      expect(status.queues[0]?.countedPackets).toBe(50);
    });
  }
});
