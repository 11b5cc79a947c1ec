/**
 * The demonstration without privileges: writes a capture with background traffic and a flood, has the service replay it
 * through libpcap at its own pace, in dry run, and prints what it detects.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { evenly, pcapBytes } from "../../fixtures/captures/pcap-writer.ts";
import { datagram } from "../../fixtures/replay-command.ts";
import { eventually, ServiceProcess } from "../../fixtures/service.ts";
import { activeAttack, attacksOf } from "./attack-answers.ts";
import type { Stage } from "./stage.ts";

const VICTIM = "203.0.113.7";
const THRESHOLD_PPS = 1000;
const FLOOD_PPS = 10 * THRESHOLD_PPS;
const START_MS = 1_700_000_000_000;

export async function showReplay(stage: Stage, { port, once }: { port: number; once: boolean }): Promise<void> {
  const directory = stage.undo.folder("replay");
  const capture = join(directory, "flood.pcap");
  writeFileSync(capture, floodCapture());
  stage.step("capture", `written: 2 s of background, 3 s of flood to ${VICTIM}, 6 s of calm`);
  const config = `
networks: [203.0.113.0/24]
capture: { pcap_file: ${capture}, pace: real }
thresholds: { pps: ${THRESHOLD_PPS}, mbps: 1000, flows_per_sec: 50000 }
ban: { ttl_seconds: 60, unban_hysteresis_seconds: 2 }
`;
  const service = await ServiceProcess.start({ config, port, directory });
  stage.undo.add(() => service.remove());
  stage.lastWords = () => service.output.slice(-4000);
  stage.step("ready", `replaying in dry run; API on http://127.0.0.1:${port}/api/v1/status`);
  await eventually(async () => (await attacksOf(service)).active.length > 0, "no attack was detected");
  const attack = await activeAttack(service, VICTIM);
  stage.step("attack", `${VICTIM}: ${attack.metric} ${Math.round(attack.rate)} over ${attack.threshold}`);
  stage.step("ban", `${attack.ban_state}, dry run: ${attack.dry_run}; nothing is announced`);
  await eventually(async () => (await attacksOf(service)).recent.length > 0, "the attack did not end", 20_000);
  stage.step("end", `the attack is over, its ban ${(await attacksOf(service)).recent[0]?.ban_state}`);
  if (once) return;
  stage.step("pause", "the API goes on answering; Ctrl-C ends");
  await new Promise(() => {});
}

/** Background to 50 hosts all the time, the flood from the third second to the fifth. */
function floodCapture(): Uint8Array {
  const hosts = Array.from({ length: 550 }, (_, i) => datagram(`203.0.113.${1 + (i % 50)}`));
  const sources = Array.from({ length: 3 * FLOOD_PPS }, (_, i) => datagram(VICTIM, `198.18.0.${i & 255}`));
  const flood = evenly(sources, { startMs: START_MS + 2000, stepMs: 1000 / FLOOD_PPS });
  const all = [...evenly(hosts, { startMs: START_MS, stepMs: 20 }), ...flood];
  return pcapBytes(all.sort((a, b) => (a.atNs < b.atNs ? -1 : 1)));
}
