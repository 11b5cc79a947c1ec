/** An attack that lasts over a restart keeps what was counted of it, and what was decided about it. */
import { expect, test } from "bun:test";
import { evenly } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";

const scene = new Scenario();
const FRAME = ethernet(ip({ src: "198.51.100.9", dst: "203.0.113.7" }, udp()));
const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 500, mbps: 1000, flows_per_sec: 100000 }
`;

interface Attack {
  readonly id: string;
  readonly started_at: string;
  readonly incident?: string;
  readonly volume?: {
    readonly packets: number;
    readonly began_at: string;
    readonly not_counted?: readonly { readonly from: string; readonly to: string }[];
  };
}

/** The attack once this number of its packets was counted. */
async function attackOf(service: ServiceProcess, packets: number): Promise<Attack> {
  let found: Attack | undefined;
  const isCounted = async () => {
    [found] = (await service.get<{ active: Attack[] }>("/api/v1/attacks")).body.active;
    return (found?.volume?.packets ?? 0) >= packets;
  };
  await eventually(isCounted, () => `no attack of ${packets} packets: ${JSON.stringify(found)}\n${service.output}`);
  return found as Attack;
}

test("volume, timeline and incident go on where they were", async () => {
  const config = CONFIG + scene.capture(evenly(new Array<Uint8Array>(120_000).fill(FRAME), { stepMs: 0.5 }));
  const first = await scene.start(config);
  const before = await attackOf(first, 3000);
  const path = `/api/v1/incidents/${before.incident}`;
  expect((await first.post(path, { owner: "take" })).status).toBe(200);
  await first.stop();

  const second = await scene.start(config);
  const after = await attackOf(second, (before.volume?.packets ?? 0) + 1000);
  expect(after).toMatchObject({
    id: before.id,
    incident: before.incident,
    volume: { began_at: before.volume?.began_at },
  });
  const [gap, ...more] = after.volume?.not_counted ?? [];
  expect([Date.parse(gap?.from ?? "") < Date.parse(gap?.to ?? ""), more]).toEqual([true, []]);
  const { entries } = (await second.get<{ entries: object[] }>(`/api/v1/attacks/${after.id}/timeline`)).body;
  expect(entries[0]).toMatchObject({ kind: "detected", at: before.started_at });
  expect(entries.map((entry) => (entry as { kind: string }).kind)).toContain("ban_placed");
  const incident = (await second.get<object>(path)).body;
  expect(incident).toMatchObject({ state: "active", attacks: 1, active_attacks: 1, owner: { of: "operator" } });
}, 60_000);
