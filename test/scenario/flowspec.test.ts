/** A flood whose rules reach a real BIRD through a real gobgpd, by the whole service, and leave it when the flood ends. */
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findGobgpd } from "../../src/bgp/gobgpd-process.ts";
import { loopback } from "../fixtures/bgp/bgp.ts";
import { startBird } from "../fixtures/bgp/bird.ts";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import { eventually, freePort, ServiceProcess } from "../fixtures/service.ts";

const ASN = 64500;
const VICTIM = "203.0.113.7";
const BYSTANDER = "203.0.113.99";

const undo: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** Eight seconds of answers from port 53 to two ports, then a calm. */
function reflectedFlood(): Uint8Array {
  const answer = (port: number) =>
    ethernet(
      ip(
        { src: "198.51.100.9", dst: VICTIM },
        udp({ sourcePort: 53, destinationPort: port, payload: new Uint8Array(400) }),
      ),
    );
  const passing = ethernet(ip({ src: "192.0.2.77", dst: BYSTANDER }, udp({ sourcePort: 7, destinationPort: 7 })));
  const [seconds, pps] = [8, 3_000];
  const flood = evenly(
    Array.from({ length: seconds * pps }, (_, i) => answer(20_000 + (i % 2))),
    { stepMs: 1000 / pps },
  );
  const calm = evenly(new Array(100).fill(passing), { startMs: 1_700_000_000_000 + seconds * 1000, stepMs: 100 });
  return pcapBytes([...flood, ...calm]);
}

test("an attack's rules are in the peer's flow table while it lasts, and are shown as they are announced", async () => {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-flowspec-${process.pid}-`));
  undo.push(() => rmSync(directory, { recursive: true, force: true }));
  const port = await freePort();
  const bird = await startBird({
    address: loopback(2),
    port,
    asn: ASN,
    sessions: [{ name: "floodwall", address: loopback(1), asn: ASN, port }],
  });
  undo.push(() => bird.stop());
  undo.push(() => {
    const pid = findGobgpd(join(directory, "state/gobgpd/run"));
    if (pid !== null) process.kill(pid, "SIGKILL");
  });
  writeFileSync(join(directory, "flood.pcap"), reflectedFlood());
  const service = await ServiceProcess.start({
    directory,
    config: `
dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 1000, flows_per_sec: 100000 }
mitigation: flowspec
ban: { unban_hysteresis_seconds: 1 }
capture: { pcap_file: ${join(directory, "flood.pcap")}, pace: real }
bgp:
  local_asn: ${ASN}
  router_id: ${loopback(1)}
  listen: "${loopback(1)}:${port}"
  next_hop: 192.0.2.1
  neighbors: [{ address: ${loopback(2)}, remote_asn: ${ASN}, port: ${port}, multihop_ttl: 4 }]
`,
  });
  undo.push(() => service.remove());

  const match = `dst ${VICTIM}/32; proto 17; dport 20000,20001; sport 53; length 428`;
  const flows = async () => (await bird.flows()).map((flow) => flow.match);
  await eventually(async () => String(await flows()) === match, "the rule is not in BIRD", 20_000);
  expect((await bird.flows())[0]?.rateBytes).toBe(0);
  const { active } = (await service.get<{ active: Record<string, unknown>[] }>("/api/v1/attacks")).body;
  expect(active[0]).toMatchObject({
    target: VICTIM,
    method: "flowspec",
    flowspec: [
      {
        dst: `${VICTIM}/32`,
        proto: 17,
        src_port: 53,
        dst_ports: [
          { from: 20_000, to: 20_000 },
          { from: 20_001, to: 20_001 },
        ],
        packet_length: { min: 428, max: 428 },
        action: "discard",
      },
    ],
  });
  expect(await bird.prefixes()).toEqual([]);
  await eventually(async () => (await bird.flowCount()) === 0, "the rule is still in BIRD", 30_000);
}, 90_000);
