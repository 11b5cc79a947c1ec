/** Packets in the name of a protected host to other protected hosts: an outsider can send them, and no host is banned for it. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { evenly } from "../fixtures/captures/pcap-writer.ts";
import { datagram } from "../fixtures/replay-command.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually } from "../fixtures/service.ts";

setDefaultTimeout(60_000);
const scene = new Scenario();
const NAMED = "203.0.113.1";
const HOSTS = 180;
const PACKETS_EACH = 11;
const SECONDS = 4;

interface Host {
  readonly ip: string;
  readonly rates: { readonly pps: number };
  readonly rates_out: { readonly pps: number };
}

test("packets to 180 hosts, 11 a second each, in the name of a protected host do not have it banned", async () => {
  const second = Array.from({ length: HOSTS * PACKETS_EACH }, (_, i) =>
    datagram(`203.0.113.${2 + (i % HOSTS)}`, NAMED),
  );
  const frames = Array.from({ length: SECONDS }, () => second).flat();
  const service = await scene.start(`
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
thresholds_outgoing: { pps: 500 }
${scene.capture(evenly(frames, { stepMs: 1000 / second.length }))}`);
  const hosts = async () => (await service.get<{ hosts: Host[] }>("/api/v1/hosts")).body.hosts;
  let most = 0;
  await eventually(
    async () => {
      const now = await hosts();
      most = Math.max(most, now.filter(({ rates }) => rates.pps > PACKETS_EACH / 2).length);
      return most === HOSTS;
    },
    () => `of ${HOSTS} hosts ${most} were seen:\n${service.output}`,
  );
  expect((await hosts()).filter(({ rates_out: { pps } }) => pps > 0)).toEqual([]);
  const { body } = await service.get<{ active: object[]; recent: object[] }>("/api/v1/attacks");
  expect([body.active, body.recent]).toEqual([[], []]);
});
