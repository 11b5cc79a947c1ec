/** Very many hosts that are attacked in one moment, in the whole service: each gets rules of its own, made off the event loop. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { VICTIM_NETWORK, VICTIM_THRESHOLD_PPS, writeManyVictims } from "../fixtures/captures/many-victims.ts";
import { metricIn } from "../fixtures/metric-value.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";

const VICTIMS = 256;
const DEADLINE_MS = 40_000;

const undo = new Undo();
afterAll(() => undo.all());

interface Bans {
  readonly bans: readonly {
    readonly matches_all?: boolean;
    readonly flowspec?: readonly object[];
    readonly separability?: { readonly estimated_by?: string };
  }[];
}

test(
  `${VICTIMS} hosts that are attacked at once get rules, none for all of their traffic`,
  async () => {
    const capture = join(undo.folder("many-attacks"), "many.pcap");
    writeManyVictims(capture, { victims: VICTIMS, quietSeconds: 2, attackSeconds: 20 });
    const service = await ServiceProcess.start({
      config: `
dry_run: true
networks: [${VICTIM_NETWORK}]
capture: { pcap_file: ${capture}, pace: real }
thresholds: { pps: ${VICTIM_THRESHOLD_PPS}, mbps: 100000, flows_per_sec: 100000000 }
mitigation: flowspec
ban: { max_active_bans: 1000 }`,
    });
    undo.add(() => service.remove());
    const bans = async () => (await service.get<Bans>("/api/v1/bans")).body.bans;
    const areFound = ({ separability }: Bans["bans"][number]) => separability?.estimated_by !== undefined;
    await eventually(
      async () => (await bans()).filter(areFound).length === VICTIMS,
      () => `rules are missing:\n${service.output}`,
      DEADLINE_MS,
    );
    for (const { matches_all: isWide = false, flowspec = [] } of await bans()) {
      expect([isWide, flowspec.length > 0]).toEqual([false, true]);
    }
    const metrics = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
    expect(metricIn(metrics, "svc_rules_found_seconds_count")).toBeGreaterThanOrEqual(VICTIMS);
    expect(metricIn(metrics, "svc_rule_thread_faults_total")).toBe(0);
    expect(await service.stop()).toBe(0);
  },
  2 * DEADLINE_MS,
);
