/** The common contract of all sources: the same frames give the same counts. */
import { describe, expect, test } from "bun:test";
import { evenly, pcapBytes } from "../../test/fixtures/captures/pcap-writer.ts";
import { accountedFor, PacketProcess } from "../../test/fixtures/dataplane/asked-process.ts";
import { DEVICE, vethUnavailable } from "../../test/fixtures/dataplane/veth.ts";
import { describeLive, skipped, VethCapture, WARM_UP_HOST } from "../../test/fixtures/dataplane/veth-capture.ts";
import { ethernet, FRAME_BYTES_MIN, ip, udp } from "../../test/fixtures/packets/frames.ts";
import { MIXED_FRAMES, MIXED_TOTALS, mixedHosts, NETWORKS } from "../../test/fixtures/packets/mixed-traffic.ts";
import { TemporaryFolder } from "../../test/fixtures/temporary-folder.ts";
import type { SourceOptions, SourceStatus } from "./native.d.ts";

const afXdp = { kind: "af_xdp", interface: DEVICE, queues: null, zeroCopy: "auto", cpus: [] } as const;
const inline = { kind: "xdp_inline", interface: DEVICE, sampleEvery: 0, cpus: [] } as const;
const LIVE: readonly (readonly [string, SourceOptions])[] = [
  ["AF_XDP, native", { ...afXdp, xdpMode: "native" }],
  ["AF_XDP, generic", { ...afXdp, xdpMode: "generic" }],
  ["XDP inline, native", { ...inline, xdpMode: "native" }],
  ["XDP inline, generic", { ...inline, xdpMode: "generic" }],
  ["libpcap, live", { kind: "pcap_live", interface: DEVICE, cpus: [] }],
];

/** What flow_filter.h begins with. */
const FLOW_MEMORY_BYTES = 2 * 2 ** 20;

function sumOf(
  { queues }: SourceStatus,
  key: "receivedPackets" | "receivedBytes" | "countedPackets" | "foreignPackets",
) {
  return queues.reduce((sum, queue) => sum + queue[key], 0);
}

async function expectSameCounts(capture: PacketProcess, before?: SourceStatus): Promise<void> {
  const already = before === undefined ? 0 : accountedFor(before);
  const status = await capture.until((now) => accountedFor(now) >= already + MIXED_TOTALS.receivedPackets);
  for (const key of ["receivedPackets", "receivedBytes", "countedPackets", "foreignPackets"] as const) {
    const counted = sumOf(status, key) - (before === undefined ? 0 : sumOf(before, key));
    expect([key, counted]).toEqual([key, MIXED_TOTALS[key]]);
  }
  expect(status.queues).toHaveLength(1);
  expect(status.queues[0]?.parseErrors).toMatchObject(MIXED_TOTALS.parseErrors);
  const { [WARM_UP_HOST]: _, ...hosts } = await capture.ask("hosts");
  for (const totals of Object.values(hosts)) {
    expect(totals.flows_per_sec).toBeGreaterThan(0);
    delete totals.flows_per_sec;
  }
  expect(hosts).toEqual(mixedHosts());
}

describe.each(["real", "max"] as const)("capture file, pace %s", (pace) => {
  test("counts every frame to its host and class", async () => {
    using directory = new TemporaryFolder("contract");
    const capture = new PacketProcess();
    try {
      const path = directory.at("mixed.pcap");
      await Bun.write(path, pcapBytes(evenly(MIXED_FRAMES)));
      await capture.ask("setNetworks", NETWORKS);
      await capture.open({ kind: "pcap_file", path, pace });
      await expectSameCounts(capture);
      await capture.until(({ state }) => state === "ended");
    } finally {
      await capture.kill();
    }
  });
});

describeLive(LIVE, NETWORKS, (live) => {
  test("counts every frame to its host and class", async () => {
    const { veth, capture } = live();
    const before = await live().warmUp();
    await veth.send(MIXED_FRAMES);
    await expectSameCounts(capture, before);
  });
});

describe.skipIf(vethUnavailable !== null).each([
  ["XDP inline", { ...inline, xdpMode: "native" }],
  ["AF_XDP", { ...afXdp, xdpMode: "native" }],
] as const)(`%s${skipped}: a frame in the name of a protected host to another network`, (_, options) => {
  test.each([
    ["is foreign where it came from other networks", true],
    ["is outgoing traffic of the host elsewhere", false],
  ] as const)("%s", async (__, isExternal) => {
    await using live = new VethCapture();
    const { veth, capture } = live;
    await capture.ask("alsoCountOutgoing");
    await capture.ask("setNetworks", NETWORKS);
    await capture.open({ ...options, isExternal });
    const before = await live.warmUp();
    const frame = ethernet(ip({ src: WARM_UP_HOST, dst: "198.51.100.7" }, udp()), { padTo: FRAME_BYTES_MIN });
    await veth.send(new Array<Uint8Array>(20).fill(frame));
    const after = await capture.until((now) => accountedFor(now) >= accountedFor(before) + 20);
    const gained = (key: "countedPackets" | "foreignPackets") => sumOf(after, key) - sumOf(before, key);
    expect([gained("countedPackets"), gained("foreignPackets")]).toEqual(isExternal ? [0, 20] : [20, 0]);
  });
});

test.skipIf(vethUnavailable !== null)(
  `AF_XDP has the memory of its first packets before the first one comes${skipped}`,
  async () => {
    await using live = new VethCapture();
    const { capture } = live;
    await capture.open({ ...afXdp, xdpMode: "native" });
    expect(await capture.ask("memoryBytes")).toBeGreaterThan(FLOW_MEMORY_BYTES);
  },
);
