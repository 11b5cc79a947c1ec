/** What the running service remembers over a restart: attacks, traffic, audit and what is normal. */
import { expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { HostWire } from "../../src/http/wire/traffic/host.ts";
import { evenly } from "../fixtures/captures/pcap-writer.ts";
import { BRAIN } from "../fixtures/cluster/companion.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import { datagram } from "../fixtures/replay-command.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";
import { ClickhouseServer, clickhouseServer } from "../fixtures/storage/clickhouse.ts";

const VICTIM = "203.0.113.7";
const SENDER = "203.0.113.8";
const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 100000 }
ban: { unban_hysteresis_seconds: 1 }
`;

const scene = new Scenario();
const attacksOf = async (service: ServiceProcess) =>
  (await service.get<Record<"active" | "recent", AttackWire[]>>("/api/v1/attacks")).body;
const frames = (frame: Uint8Array, count: number) => new Array<Uint8Array>(count).fill(frame);

interface Traffic {
  readonly points: { readonly pps: number; readonly max_pps: number; readonly in_attack: boolean }[];
}

async function attackAndRestart(storage: string): Promise<void> {
  const sent = ethernet(ip({ src: SENDER, dst: "198.51.100.9" }, udp()));
  const capture = scene.capture(
    evenly(frames(datagram(VICTIM), 15_000), { stepMs: 0.2 }),
    evenly(frames(sent, 2700), { stepMs: 1 / 0.9 }),
    evenly(frames(datagram(VICTIM), 30), { startMs: 1_700_000_003_000, stepMs: 100 }),
  );
  const config = `${CONFIG}storage: { ${storage}traffic_interval_seconds: 1 }\nthresholds_outgoing: { pps: 500 }\n`;
  const first = await scene.start(config + capture);
  const startMs = Date.now() - 10_000;
  /** As it was at each reading while it lasted. */
  const readings: AttackWire[] = [];
  let host: HostWire | undefined;
  const areOver = async () => {
    const { active, recent } = await attacksOf(first);
    const reading = active.find(({ target }) => target === VICTIM);
    if (reading === undefined) return recent.length === 2;
    readings.push(reading);
    host ??= (await first.get<{ hosts: HostWire[] }>(`/api/v1/hosts?q=${VICTIM}`)).body.hosts[0];
    return false;
  };
  await eventually(areOver, "the attacks did not end", 30_000, 50);
  expect(host).toMatchObject({ target: VICTIM, in_attack: true, metric: "pps" });
  const traffic = `/api/v1/traffic?key=${VICTIM}&step=1`;
  await eventually(async () => {
    const { points } = (await first.get<Traffic>(traffic)).body;
    return points.some(({ pps, in_attack: inAttack }) => inAttack && pps > 1000);
  }, "the flood is not in the traffic history");
  const ended = (await attacksOf(first)).recent;
  const incoming = ended.find(({ target }) => target === VICTIM);
  expect(incoming).toMatchObject({ metric: "pps", active: false, ban_state: "withdrawn", dry_run: true });
  expect(Date.parse(incoming?.started_at ?? "")).toBeGreaterThan(startMs);
  // The rate is the engine's at each request, what was found at the start is not.
  expect(new Set(readings.map(({ rate }) => rate)).size).toBeGreaterThan(3);
  for (const { id, rate, rates, threshold, reason } of readings)
    expect<unknown>([id, rate, threshold, reason]).toEqual([incoming?.id, rates.pps, 1000, incoming?.reason]);
  expect(ended.find(({ target }) => target === SENDER)).toMatchObject({ direction: "outgoing", threshold: 500 });
  const { points } = (await first.get<Traffic>(traffic)).body;
  expect(await first.stop()).toBe(0);

  const second = await scene.start(config);
  await eventually(async () => (await attacksOf(second)).recent.length === 2, "the attacks did not come back");
  const { active, recent } = await attacksOf(second);
  expect(active).toEqual([]);
  const known = recent.find(({ target }) => target === VICTIM);
  expect(known?.sample).toBeDefined();
  for (const field of ["id", "sample", "reason"] as const) expect<unknown>(known?.[field]).toEqual(incoming?.[field]);
  // All but the second that was still being measured. A database may round the last digit otherwise.
  const over = points.slice(0, -1);
  const rates = (some: Traffic["points"]) => some.map(({ pps, max_pps: max }) => [pps, max].map(Math.round));
  expect(rates((await second.get<Traffic>(traffic)).body.points.slice(0, over.length))).toEqual(rates(over));
  expect(over.some(({ max_pps: max }) => Math.abs(max / 5000 - 1) < 0.05)).toBe(true);
  const { events } = (await second.get<{ events: object[] }>("/api/v1/audit?action=ban")).body;
  expect(events).toContainEqual(expect.objectContaining({ target: VICTIM, source: "auto" }));
}

/** Of a pair the brain that leads writes there, and the other one of a test sees no traffic. */
const isLed = BRAIN === "brain2";
const skipped =
  clickhouseServer === null
    ? " (skipped: clickhouse-server is not installed)"
    : isLed
      ? " (skipped: brain1 writes)"
      : "";

test("attacks, traffic and audit come back after a restart, from SQLite", () => attackAndRestart(""), 60_000);
test.skipIf(clickhouseServer === null || isLed)(
  `and from ClickHouse${skipped}`,
  async () => {
    const server = await ClickhouseServer.start();
    scene.onEnd(() => server.remove());
    await attackAndRestart(`driver: clickhouse, clickhouse: { url: "${server.url}" }, `);
  },
  60_000,
);

// By hour of the week as well: in its first week an hour has no normal of its own, and what holds is the recent one.
test("what is normal is shown with the host, lowers its limit, is in the reason, and is known after a restart", async () => {
  const config = (pps: number, seconds: number) => `
networks: [203.0.113.0/24]
thresholds: { pps: 5000, mbps: 1000, flows_per_sec: 100000 }
baseline: { warmup_seconds: 2, seasonal: true, floor: { pps: 300, mbps: 50, flows_per_sec: 1000 } }
${scene.capture(evenly(frames(datagram(VICTIM), pps * seconds), { stepMs: 1000 / pps }))}`;
  const service = await scene.start(config(200, 60));
  const host = async () => (await service.get<{ hosts: HostWire[] }>("/api/v1/hosts")).body.hosts[0];
  const uptime = async () => (await service.get<{ uptime_seconds: number }>("/api/v1/status")).body.uptime_seconds;
  await eventually(
    // By then its warm-up of two seconds is over.
    async () => (await uptime()) >= 6 && Math.abs(((await host())?.baseline?.pps ?? 0) - 200) < 20,
    () => `nothing was learned:\n${service.output}`,
    30_000,
  );
  expect(await host()).toMatchObject({ in_attack: false, baseline_out: { pps: 0, mbps: 0, flows_per_sec: 0 } });
  expect(await service.stop()).toBe(0);

  const again = await scene.start(config(2000, 30));
  await eventually(
    async () => (await attacksOf(again)).active.length === 1,
    () => `no attack:\n${again.output}`,
    30_000,
  );
  const [attack] = (await attacksOf(again)).active;
  expect(attack?.threshold).toBeLessThan(700);
  const learned = { threshold_source: "baseline", baseline: { factor: 3, floor: 300, ceiling: 5000 } };
  expect(attack?.reason).toMatchObject({ ...learned, baseline_configured: true });
}, 90_000);
