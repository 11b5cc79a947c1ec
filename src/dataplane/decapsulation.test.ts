/** What every source takes apart, and mirrored frames that come in tunnels to an address of ours. */
import { describe, expect, test } from "bun:test";
import { accountedFor } from "../../test/fixtures/dataplane/asked-process.ts";
import { DEVICE, type Veth, vethUnavailable } from "../../test/fixtures/dataplane/veth.ts";
import { describeLive, skipped, VethCapture } from "../../test/fixtures/dataplane/veth-capture.ts";
import { ethernet, type IpPacket, ip, tcp, udp } from "../../test/fixtures/packets/frames.ts";
import { encapsulated, erspan } from "../../test/fixtures/packets/tunnels.ts";
import { ENCAPSULATIONS } from "../native/constants.ts";
import { messageOf } from "../system/error-message.ts";
import type { SourceOptions } from "./native.d.ts";

const NETWORKS = ["203.0.113.0/24", "2001:db8:1::/48"];
const A = { src: "198.51.100.7", dst: "203.0.113.9" };
const B = { src: "2001:db8::7", dst: "2001:db8:1::9" };
const PACKETS: readonly IpPacket[] = [ip(A, udp({ payload: new Uint8Array(60) })), ip(B, tcp())];
const FRAMES = PACKETS.map(encapsulated);
const ALL = [...ENCAPSULATIONS];
/** Labels and PPPoE belong to the link; a tunnel's headers do not count. */
const OF_LINK: readonly string[] = ["mpls", "pppoe"];

const inline = { kind: "xdp_inline", interface: DEVICE, sampleEvery: 0, cpus: [], decapsulate: ALL } as const;
const LIVE: readonly (readonly [string, SourceOptions])[] = [
  [
    "AF_XDP",
    { kind: "af_xdp", interface: DEVICE, queues: null, zeroCopy: "auto", cpus: [], xdpMode: "auto", decapsulate: ALL },
  ],
  ["XDP inline", { ...inline, xdpMode: "auto" }],
  ["libpcap", { kind: "pcap_live", interface: DEVICE, cpus: [], decapsulate: ALL }],
];

function bytesOf(packet: IpPacket, frames: readonly (readonly [string, Uint8Array])[]): number {
  const own = ethernet(packet).length;
  return frames.reduce((sum, [kind, frame]) => sum + (OF_LINK.includes(kind) ? frame.length : own), 0);
}

describeLive(LIVE, NETWORKS, (live) => {
  test("counts what is inside of every kind, with the length that it has there", async () => {
    const { veth, capture } = live();
    const before = accountedFor(await live().warmUp());
    const frames = FRAMES.flat().map(([, frame]) => frame);
    await veth.send(frames);
    await capture.until((now) => accountedFor(now) === before + frames.length);
    const hosts = await capture.ask("hosts");
    for (const [i, { dst }] of [A, B].entries()) {
      const [packet, carriers] = [PACKETS[i], FRAMES[i]];
      if (packet === undefined || carriers === undefined) throw new Error("unreachable");
      expect(hosts[dst]).toMatchObject({ pps: carriers.length, mbps: bytesOf(packet, carriers) });
    }
  });
});

test.skipIf(vethUnavailable !== null)(
  `sources report encapsulations that they were not configured to remove${skipped}`,
  async () => {
    await using live = new VethCapture();
    const { veth, capture } = live;
    await capture.ask("setNetworks", NETWORKS);
    await capture.open({ kind: "pcap_live", interface: DEVICE, cpus: [], decapsulate: ["vxlan"] });
    const frames = FRAMES.flat().map(([, frame]) => frame);
    await veth.send(frames);
    const status = await capture.until((now) => accountedFor(now) === frames.length);
    const expected: Record<string, number> = Object.fromEntries(ENCAPSULATIONS.map((kind) => [kind, 0]));
    for (const [kind] of FRAMES.flat()) if (kind !== "vxlan") expected[kind] = (expected[kind] ?? 0) + 1;
    expect(status.queues[0]?.encapsulated).toEqual(expected);
  },
);

describe.skipIf(vethUnavailable !== null)(`a mirror tunnel${skipped}`, () => {
  const MIRRORED = ethernet(ip(A, udp({ payload: new Uint8Array(60) })));

  test.each([
    ["IPv4", { src: "192.0.2.1", dst: "192.0.2.2" }, "192.0.2.2/24", "192.0.2.0/30"],
    ["IPv6", { src: "2001:db8:9::1", dst: "2001:db8:9::2" }, "2001:db8:9::2/64", "2001:db8:9::/126"],
  ])("over %s counts what its senders mirror, and nothing of others", async (_, ends, local, from) => {
    await using live = new VethCapture();
    const { veth, capture } = live;
    if (local.includes(":")) veth.far.run(["sysctl", "-q", `net.ipv6.conf.${DEVICE}.disable_ipv6=0`]);
    veth.far.run(["ip", "address", "add", local, "dev", DEVICE, ...(local.includes(":") ? ["nodad"] : [])]);
    await capture.ask("setNetworks", NETWORKS);
    await capture.ask("openTunnel", ends.dst, [from]);
    const others = { ...ends, src: ends.src.includes(":") ? "2001:db8:9::99" : "192.0.2.99" };
    const destination = await macOf(veth);
    const mirrored = ethernet(erspan(MIRRORED, ends), { destination });
    await veth.send([mirrored, mirrored, ethernet(erspan(MIRRORED, others), { destination }), mirrored]);
    const status = await capture.until(({ queues }) => queues.some(({ refused }) => refused === 1));
    expect(status).toMatchObject({ state: "running", queues: [{ countedPackets: 3, refused: 1 }] });
    const hosts = await capture.ask("hosts");
    expect(hosts[A.dst]).toMatchObject({ udp_pps: 3, udp_mbps: 3 * MIRRORED.length });
  });

  test("to an address that the machine does not have says so", async () => {
    await using live = new VethCapture();
    const { capture } = live;
    const refused = capture.ask("openTunnel", "192.0.2.77", ["192.0.2.0/24"]).then(() => "opened", messageOf);
    expect(await refused).toContain(
      "cannot receive mirrored frames to 192.0.2.77: this machine does not have the address",
    );
  });
});

async function macOf(veth: Veth): Promise<number[]> {
  const text = veth.far.run(["cat", `/sys/class/net/${DEVICE}/address`]);
  return text
    .trim()
    .split(":")
    .map((part) => Number.parseInt(part, 16));
}
