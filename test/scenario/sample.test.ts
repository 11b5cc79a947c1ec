/** The flow sample of an attack: a flood whose senders and ports are known, through the whole service and by replay. */
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

interface Share {
  readonly key: string;
  readonly packets: number;
  readonly bytes: number;
}
interface Sample {
  readonly top_sources: readonly Share[];
  readonly top_src_ports: readonly Share[];
  readonly top_dst_ports: readonly Share[];
  readonly protocols: readonly Share[];
  readonly flows?: readonly Record<string, unknown>[];
  readonly total_packets: number;
}
interface Attack {
  readonly target: string;
  readonly sample?: Sample;
}
type Attacks = Record<"active" | "recent", Attack[]>;

const MAIN = join(import.meta.dir, "../../src/main.ts");
const VICTIM = "203.0.113.7";
const BYSTANDER = "203.0.113.99";
const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 1000, flows_per_sec: 100000 }
ban: { unban_hysteresis_seconds: 1 }
`;
const FRAME_BYTES = 14 + 20 + 8 + 400;

const undo: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** Of ten packets to the victim six come from .1, three from .2 and one from .3, all from port 53; others pass by. */
function reflectedFlood(seconds: number): Uint8Array {
  const answer = (last: number, i: number) =>
    ethernet(
      ip(
        { src: `198.51.100.${last}`, dst: VICTIM },
        udp({ sourcePort: 53, destinationPort: 20_000 + (i % 2), payload: new Uint8Array(400) }),
      ),
    );
  const bystander = ethernet(ip({ src: "192.0.2.77", dst: BYSTANDER }, udp({ sourcePort: 7, destinationPort: 7 })));
  const frames = Array.from({ length: seconds * 5000 }, (_, i) =>
    i % 11 === 10 ? bystander : answer(i % 11 < 6 ? 1 : i % 11 < 9 ? 2 : 3, i),
  );
  return pcapBytes(evenly(frames, { stepMs: 0.2 }));
}

function folder(capture: Uint8Array): { directory: string; capturePath: string } {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-sample-${process.pid}-`));
  undo.push(() => rmSync(directory, { recursive: true, force: true }));
  const capturePath = join(directory, "flood.pcap");
  writeFileSync(capturePath, capture);
  return { directory, capturePath };
}

async function start(config: string, directory?: string): Promise<ServiceProcess> {
  const service = await ServiceProcess.start({ config, ...(directory === undefined ? {} : { directory }) });
  undo.push(() => service.remove());
  return service;
}

const attacks = async (service: ServiceProcess) => (await service.get<Attacks>("/api/v1/attacks")).body;

async function attackWith(service: ServiceProcess, wanted: (attack: Attack) => boolean): Promise<Attack> {
  let attack: Attack | undefined;
  await eventually(
    async () => {
      const { active, recent } = await attacks(service);
      attack = [...active, ...recent].find(wanted);
      return attack !== undefined;
    },
    () => `no such attack:\n${service.output}`,
  );
  return attack as Attack;
}

const keys = (shares: readonly Share[] = []) => shares.map(({ key }) => key);
const packets = (shares: readonly Share[] = []) => shares.reduce((sum, share) => sum + share.packets, 0);

test("an attack shows who sent what to which ports, keeps it to its end and over a restart", async () => {
  const { directory, capturePath } = folder(reflectedFlood(3));
  const service = await start(`${CONFIG}capture: { pcap_file: ${capturePath}, pace: real }\n`, directory);
  const { sample } = await attackWith(service, (attack) => (attack.sample?.total_packets ?? 0) >= 64);

  expect(keys(sample?.top_sources)).toEqual(["198.51.100.1", "198.51.100.2", "198.51.100.3"]);
  expect(keys(sample?.top_src_ports)).toEqual(["53"]);
  expect(keys(sample?.top_dst_ports).toSorted()).toEqual(["20000", "20001"]);
  expect(keys(sample?.protocols)).toEqual(["udp"]);
  const total = sample?.total_packets ?? 0;
  expect(packets(sample?.top_sources)).toBe(total);
  expect(sample?.protocols[0]?.bytes).toBe(total * FRAME_BYTES);
  // Six of ten: at 64 packets or more, less than half or more than three quarters is beyond chance.
  expect((sample?.top_sources[0]?.packets ?? 0) / total).toBeWithin(0.4, 0.8);
  expect(sample?.flows).toHaveLength(20);
  for (const flow of sample?.flows ?? []) {
    expect(flow).toMatchObject({ dst: VICTIM, proto: "udp", src_port: 53, bytes: FRAME_BYTES });
    expect(flow).not.toHaveProperty("tcp_flags");
  }

  await service.stop();
  const again = await start(CONFIG, directory);
  expect(await attackWith(again, ({ target }) => target === VICTIM)).toMatchObject({ sample: sample as Sample });
});

test("an attack that is over still has the sample of its detection", async () => {
  const { capturePath } = folder(reflectedFlood(1));
  const service = await start(`${CONFIG}capture: { pcap_file: ${capturePath}, pace: real }\n`);
  const { sample } = await attackWith(service, (attack) => (attack.sample?.total_packets ?? 0) >= 64);
  await eventually(
    async () => (await attacks(service)).recent.length === 1,
    () => `no end:\n${service.output}`,
  );
  expect((await attacks(service)).recent[0]?.sample).toEqual(sample as Sample);
});

test("samples are as long as the configuration says", async () => {
  const { capturePath } = folder(reflectedFlood(1));
  const samples = "samples: { top: 1, per_attack_flows: 0 }\n";
  const service = await start(`${CONFIG}${samples}capture: { pcap_file: ${capturePath}, pace: real }\n`);
  const { sample } = await attackWith(service, (attack) => (attack.sample?.total_packets ?? 0) >= 64);
  expect(keys(sample?.top_sources)).toEqual(["198.51.100.1"]);
  expect(sample?.top_dst_ports).toHaveLength(1);
  expect(sample).not.toHaveProperty("flows");
});

test("without sampling an attack has no sample", async () => {
  const { capturePath } = folder(reflectedFlood(1));
  const samples = "samples: { enabled: false }\n";
  const service = await start(`${CONFIG}${samples}capture: { pcap_file: ${capturePath}, pace: real }\n`);
  await eventually(
    async () => (await attacks(service)).recent.length === 1,
    () => `no end:\n${service.output}`,
  );
  expect((await attacks(service)).recent[0]).not.toHaveProperty("sample");
});

test("a replay tells the largest shares of the sample", () => {
  const { directory, capturePath } = folder(reflectedFlood(1));
  writeFileSync(join(directory, "floodwall.yaml"), CONFIG);
  const options = ["--config", join(directory, "floodwall.yaml")];
  const { stdout, exitCode } = Bun.spawnSync([process.execPath, MAIN, "replay", capturePath, ...options]);
  expect(exitCode).toBe(0);
  expect(stdout.toString()).toMatch(
    /attack sample {3}203\.0\.113\.7 {2}udp 100 %, from 198\.51\.100\.1 \d+ %, ports 53 100 % to 2000[01] \d+ %, of \d+ packets/,
  );
});
