/** The whole way on an inline interface: XDP counts and passes on, the flood is detected, its route reaches BIRD. */
import { afterEach, expect, test } from "bun:test";
import { eventually, freePort } from "../fixtures/service.ts";
import { namespacesUnavailable } from "../lab/namespaces.ts";
import { THRESHOLD_PPS, World } from "../lab/world.ts";

const VICTIM = "203.0.113.7";
const unavailable = namespacesUnavailable();
const reason = unavailable === null ? "" : `: ${unavailable}`;

let world: World | null = null;
afterEach(() => world?.close());

interface Status {
  readonly capture: { readonly interfaces: readonly { readonly queues: readonly { counted_packets: number }[] }[] };
}

interface Attack {
  readonly id: string;
  readonly volume: { readonly packets: number };
}

test.skipIf(unavailable !== null)(`inline counting leads to a route as a mirror port does${reason}`, async () => {
  world = await World.create({ apiPort: await freePort(), hysteresisSeconds: 1, mode: "inline" });
  const { bird, service } = world;
  const flood = world.send({ profile: "syn", target: VICTIM, sources: 500, pps: 5 * THRESHOLD_PPS, seconds: 1 });
  await eventually(
    () => bird.hasRoute(`${VICTIM}/32`),
    () => `no route:\n${service.output}`,
  );
  const sent = await flood;
  const isCounted = async () => {
    const { capture } = (await service.get<Status>("/api/v1/status")).body;
    return capture.interfaces[0]?.queues[0]?.counted_packets === sent.packets - sent.device_drops;
  };
  await eventually(isCounted, "not all that arrived was counted");
  await eventually(async () => !(await bird.hasRoute(`${VICTIM}/32`)), "the route was not withdrawn");
  const { recent } = (await service.get<{ recent: Attack[] }>("/api/v1/attacks")).body;
  const [attack] = recent;
  expect(attack).toMatchObject({ target: VICTIM, metric: "pps", ban_state: "withdrawn" });
  const arrived = sent.packets - sent.device_drops;
  expect(Math.abs((attack?.volume.packets ?? 0) - arrived)).toBeLessThanOrEqual(0.05 * arrived);
  const { entries } = (await service.get<{ entries: object[] }>(`/api/v1/attacks/${attack?.id}/timeline`)).body;
  expect(entries).toContainEqual(expect.objectContaining({ kind: "announced", neighbor: "198.51.100.2" }));
});
