/** A reload of a file at its bounds on a service that has other things to do meanwhile, and of files that it names. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ASN_FILE, originFile } from "../fixtures/origin-file.ts";
import { datagram } from "../fixtures/replay-command.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually } from "../fixtures/service.ts";

const VICTIM = "203.0.113.7";
const REST = "\nthresholds: { pps: 1000, mbps: 1000, flows_per_sec: 100000 }\n";
const LASTING = "ban: { unban_hysteresis_seconds: 60 }\n";
const CONFIG = `networks: [203.0.113.0/24]${REST}`;
setDefaultTimeout(90_000);

const scene = new Scenario();
const packets = (count: number, fields: Parameters<typeof evenly>[1]) =>
  evenly(new Array<Uint8Array>(count).fill(datagram(VICTIM)), fields);

/** 100,000 prefixes, half of them in hostgroups. */
function bigConfig(): string {
  const networks = Array.from({ length: 49_999 }, (_, i) => `  - 10.${i >> 8}.${i & 255}.0/24\n`);
  const groups = Array.from({ length: 50 }, (_, group) => {
    const own = Array.from({ length: 1000 }, (_, i) => {
      const network = (group * 1000 + i) % 49_999;
      return `      - 10.${network >> 8}.${network & 255}.${group * 1000 + i < 49_999 ? 0 : 128}/25\n`;
    });
    return `  - name: group-${group}\n    networks:\n${own.join("")}`;
  });
  return `${REST}${LASTING}networks:\n  - 203.0.113.0/24\n${networks.join("")}hostgroups:\n${groups.join("")}`;
}

test("while a big file is read again the service detects, bans and answers, and then takes the file over", async () => {
  const path = join(scene.directory, "flood.pcap");
  const capture = `capture: { pcap_file: ${path} }\n`;
  const service = await scene.start(capture + CONFIG + LASTING);
  const own = readFileSync(service.configPath, "utf8").split("\n").slice(0, 2).join("\n");
  // A pipe in the place of the file: the reload waits in it until it is written to.
  rmSync(service.configPath);
  expect(Bun.spawnSync(["mkfifo", service.configPath]).exitCode).toBe(0);
  service.signal("SIGHUP");
  // The source of packets is tried again until the file is there: by then the reload is under way.
  renameSync(scene.file("flood", pcapBytes(packets(20_000, { stepMs: 0.2 }))), path);
  const active = async () => {
    const { bans } = (await service.get<{ bans: { target: string; state: string }[] }>("/api/v1/bans")).body;
    return bans.filter(({ state }) => state === "active").map(({ target }) => target);
  };
  await eventually(
    async () => (await active()).includes(VICTIM),
    () => service.output,
  );
  expect(service.output).not.toContain("configuration reloaded");
  const big = scene.file("next.yaml", `${own}\n${capture}${bigConfig()}`);
  const writer = Bun.spawn(["sh", "-c", 'cat "$0" > "$1"', big, service.configPath], { stdin: "ignore" });
  scene.onEnd(() => writer.kill());
  await eventually(
    async () => {
      expect((await fetch(`http://127.0.0.1:${service.port}/healthz`)).status).toBe(200);
      return service.output.includes("configuration reloaded");
    },
    () => service.output.slice(-4000),
    60_000,
  );
  expect((await service.get<{ networks: string[] }>("/api/v1/status")).body.networks).toHaveLength(50_000);
  expect(await active()).toEqual([VICTIM]);
});

test("a replaced file of origins is used, and what there was is kept when that is broken", async () => {
  const samples = `samples: { asn_file: ${scene.file("asn.mmdb", ASN_FILE())} }\n`;
  const [calmMs, secondMs] = [1_700_000_001_000, 1_700_000_012_000];
  const calm = evenly(new Array<Uint8Array>(100).fill(datagram("203.0.113.200")), { startMs: calmMs, stepMs: 100 });
  const floods = [packets(5000, { stepMs: 0.2 }), packets(20_000, { startMs: secondMs, stepMs: 0.2 })];
  const service = await scene.start(
    `${CONFIG}ban: { unban_hysteresis_seconds: 1 }\n${scene.capture(calm, ...floods)}${samples}`,
  );
  const systemOf = async (list: "active" | "recent") => {
    const attacks = (await service.get<Record<"active" | "recent", AttackWire[]>>("/api/v1/attacks")).body[list];
    return attacks[0]?.sample?.top_asns?.[0]?.key;
  };
  await eventually(
    async () => (await systemOf("recent")) === "AS64500 Example Net",
    () => `the first attack did not end:\n${service.output}`,
  );
  const reload = () => service.post<{ error: string }>("/api/v1/config/reload", {});
  const faulty = async () => (await service.get<{ faulty_files?: object[] }>("/api/v1/status")).body.faulty_files;
  scene.file("asn.mmdb", ASN_FILE().subarray(0, 100));
  expect((await reload()).status).toBe(200);
  const error = expect.stringMatching(/asn\.mmdb is not a MaxMind DB file, or is truncated/);
  expect(await faulty()).toMatchObject([{ key: "samples.asn_file", kind: "origins", error }]);
  scene.file("asn.mmdb", originFile({ "198.51.100.0/24": { autonomous_system_number: 64511 } }));
  expect((await reload()).status).toBe(200);
  expect(await faulty()).toBeUndefined();
  await eventually(
    async () => (await systemOf("active")) === "AS64511",
    () => `the second attack is not shown by the new file:\n${service.output}`,
    30_000,
  );
});
