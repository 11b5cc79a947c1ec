/** What is normal, learned by the running service from a capture, shown, judged by, and taken up after a restart. */
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

const HOST = "203.0.113.7";
const datagram = ethernet(ip({ src: "198.51.100.9", dst: HOST }, udp({ payload: new Uint8Array(100) })));

const undo: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

interface Host {
  readonly target: string;
  readonly in_attack: boolean;
  readonly baseline?: { readonly pps: number };
}
interface Attacks {
  readonly active: readonly { readonly threshold: number; readonly reason: Record<string, unknown> }[];
}

function config(directory: string, pps: number, seconds: number): string {
  const frames = new Array<Uint8Array>(pps * seconds).fill(datagram);
  writeFileSync(join(directory, "traffic.pcap"), pcapBytes(evenly(frames, { stepMs: 1000 / pps })));
  return `
networks: [203.0.113.0/24]
thresholds: { pps: 5000, mbps: 1000, flows_per_sec: 100000 }
baseline: { warmup_seconds: 2, seasonal: true, floor: { pps: 300, mbps: 50, flows_per_sec: 1000 } }
capture: { pcap_file: ${join(directory, "traffic.pcap")} }
`;
}

// By hour of the week as well: in its first week an hour has no normal of its own, and what holds is the recent one.
test("is shown with the host, lowers its limit, is in the reason, and is still known after a restart", async () => {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-baselines-${process.pid}-`));
  undo.push(() => rmSync(directory, { recursive: true, force: true }));
  const service = await ServiceProcess.start({ config: config(directory, 200, 60), directory });
  undo.push(() => service.remove());
  const host = async () => (await service.get<{ hosts: Host[] }>("/api/v1/hosts")).body.hosts[0];
  const uptime = async () => (await service.get<{ uptime_seconds: number }>("/api/v1/status")).body.uptime_seconds;
  await eventually(
    // By then its warm-up of two seconds is over.
    async () => (await uptime()) >= 6 && Math.abs(((await host())?.baseline?.pps ?? 0) - 200) < 20,
    () => `nothing was learned:\n${service.output}`,
    30_000,
  );
  expect(await host()).toMatchObject({
    target: HOST,
    in_attack: false,
    baseline: { pps: expect.any(Number), mbps: expect.any(Number), flows_per_sec: expect.any(Number) },
    baseline_out: { pps: 0, mbps: 0, flows_per_sec: 0 },
  });
  expect(await service.stop()).toBe(0);

  const again = await ServiceProcess.start({ config: config(directory, 2000, 30), directory });
  undo.push(() => again.remove());
  const attacks = async () => (await again.get<Attacks>("/api/v1/attacks")).body.active;
  await eventually(
    async () => (await attacks()).length === 1,
    () => `no attack:\n${again.output}`,
    30_000,
  );
  const [attack] = await attacks();
  expect(attack?.threshold).toBeLessThan(700);
  expect(attack?.reason).toMatchObject({
    threshold_source: "baseline",
    baseline: { factor: 3, floor: 300, ceiling: 5000 },
    baseline_configured: true,
  });
}, 90_000);
