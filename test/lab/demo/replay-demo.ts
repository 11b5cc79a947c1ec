/**
 * The demonstration without privileges: writes a capture with background traffic and a flood, has the service replay it
 * through libpcap at its own pace, in dry run, and tells what it makes of it.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CapturedFrame, evenly, pcapBytes } from "../../fixtures/captures/pcap-writer.ts";
import { datagram } from "../../fixtures/replay-command.ts";
import { eventually, ServiceProcess } from "../../fixtures/service.ts";
import { type Attacks, activeAttack } from "./attack-answers.ts";
import type { Narrator } from "./narrator.ts";
import type { Stage } from "./stage.ts";

const VICTIM = "203.0.113.7";
const THRESHOLD_PPS = 1000;
const FLOOD_PPS = 10 * THRESHOLD_PPS;
const START_MS = 1_700_000_000_000;

interface ReplayOptions {
  readonly say: Narrator;
  readonly port: number;
  readonly once: boolean;
}

export async function showReplay(stage: Stage, { say, port, once }: ReplayOptions): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-replay-${process.pid}-`));
  stage.undo.push(() => rmSync(directory, { recursive: true, force: true }));
  const capture = join(directory, "flood.pcap");
  writeFileSync(capture, pcapBytes(floodCapture()));
  say.step("capture", `written: 2 s of background, 3 s of flood to ${VICTIM}, 6 s of calm`);
  const config = `
networks: [203.0.113.0/24]
capture: { pcap_file: ${capture}, pace: real }
thresholds: { pps: ${THRESHOLD_PPS}, mbps: 1000, flows_per_sec: 50000 }
ban: { ttl_seconds: 60, unban_hysteresis_seconds: 2 }
`;
  const service = await ServiceProcess.start({ config, port, directory });
  stage.undo.push(() => service.remove());
  stage.lastWords = () => service.output.slice(-4000);
  await narrate(say, service, port);
  if (once) return;
  say.step("pause", "the API goes on answering; Ctrl-C ends");
  await new Promise(() => {});
}

async function narrate(say: Narrator, service: ServiceProcess, port: number): Promise<void> {
  say.step("ready", `replaying in dry run; API on http://127.0.0.1:${port}/api/v1/status`);
  const attacks = async () => (await service.get<Attacks>("/api/v1/attacks")).body;
  await eventually(async () => (await attacks()).active.length > 0, "no attack was detected");
  const attack = await activeAttack(service, VICTIM);
  say.step("attack", `${VICTIM}: ${attack.metric} ${Math.round(attack.rate)} over ${attack.threshold}`);
  say.step("ban", `${attack.ban_state}, dry run: ${attack.dry_run}; nothing is announced`);
  await eventually(async () => (await attacks()).recent.length > 0, "the attack did not end", 20_000);
  say.step("end", `the attack is over, its ban ${(await attacks()).recent[0]?.ban_state}`);
}

/** Background to 50 hosts all the time, the flood from the third second to the fifth. */
function floodCapture(): CapturedFrame[] {
  const hosts = Array.from({ length: 550 }, (_, i) => datagram(`203.0.113.${1 + (i % 50)}`));
  const sources = Array.from({ length: 3 * FLOOD_PPS }, (_, i) => datagram(VICTIM, `198.18.0.${i & 255}`));
  const flood = evenly(sources, { startMs: START_MS + 2000, stepMs: 1000 / FLOOD_PPS });
  return [...evenly(hosts, { startMs: START_MS, stepMs: 20 }), ...flood].sort((a, b) => (a.atNs < b.atNs ? -1 : 1));
}
