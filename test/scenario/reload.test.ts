/** A reload of a file at its bounds, on a service that has other things to do meanwhile. */
import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

const VICTIM = "203.0.113.7";
const REST = `
thresholds: { pps: 1000, mbps: 1000, flows_per_sec: 100000 }
ban: { unban_hysteresis_seconds: 60 }
`;
const CONFIG = `networks: [203.0.113.0/24]${REST}`;

const undo: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

function folder(): string {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-reload-${process.pid}-`));
  undo.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function started(config: string): Promise<ServiceProcess> {
  const service = await ServiceProcess.start({ config, directory: folder() });
  undo.push(() => service.remove());
  return service;
}

/** Puts a pipe in the place of the file: a reload waits in it until `feed` is called. */
function holdReload(service: ServiceProcess): { readonly feed: (config: string) => Promise<void> } {
  const own = readFileSync(service.configPath, "utf8").split("\n").slice(0, 2).join("\n");
  rmSync(service.configPath);
  expect(Bun.spawnSync(["mkfifo", service.configPath]).exitCode).toBe(0);
  return {
    async feed(config) {
      const path = join(service.directory, "next.yaml");
      writeFileSync(path, `${own}\n${config}`);
      const writer = Bun.spawn(["sh", "-c", 'cat "$0" > "$1"', path, service.configPath], { stdin: "ignore" });
      undo.push(() => writer.kill());
      expect(await writer.exited).toBe(0);
    },
  };
}

/** Four seconds, 5,000 packets a second. */
function flood(): Uint8Array {
  const frame = ethernet(ip({ src: "198.51.100.1", dst: VICTIM }, udp({ sourcePort: 53, destinationPort: 20_000 })));
  return pcapBytes(evenly(new Array<Uint8Array>(20_000).fill(frame), { stepMs: 0.2 }));
}

/** 100,000 prefixes, half of them in hostgroups. */
function bigConfig(capturePath: string): string {
  const networks = Array.from({ length: 49_999 }, (_, i) => `  - 10.${i >> 8}.${i & 255}.0/24\n`);
  const groups = Array.from({ length: 50 }, (_, group) => {
    const own = Array.from({ length: 1000 }, (_, i) => {
      const network = (group * 1000 + i) % 49_999;
      return `      - 10.${network >> 8}.${network & 255}.${group * 1000 + i < 49_999 ? 0 : 128}/25\n`;
    });
    return `  - name: group-${group}\n    networks:\n${own.join("")}`;
  });
  return `capture: { pcap_file: ${capturePath} }${REST}networks:\n  - 203.0.113.0/24\n${networks.join("")}hostgroups:\n${groups.join("")}`;
}

describe("while a big file is read again", () => {
  test("the service detects, bans and answers, and then takes the file over", async () => {
    const capturePath = join(folder(), "flood.pcap");
    const service = await started(`capture: { pcap_file: ${capturePath} }\n${CONFIG}`);
    const { feed } = holdReload(service);
    service.signal("SIGHUP");
    // The source of packets is tried again until the file is there: by then the reload is under way.
    writeFileSync(`${capturePath}.part`, flood());
    renameSync(`${capturePath}.part`, capturePath);
    const active = async () => {
      const { bans } = (await service.get<{ bans: { target: string; state: string }[] }>("/api/v1/bans")).body;
      return bans.filter(({ state }) => state === "active").map(({ target }) => target);
    };
    await eventually(
      async () => (await active()).includes(VICTIM),
      () => service.output,
    );
    expect(service.output).not.toContain("configuration reloaded");

    const fed = feed(bigConfig(capturePath));
    await eventually(
      async () => {
        expect((await fetch(`http://127.0.0.1:${service.port}/healthz`)).status).toBe(200);
        return service.output.includes("configuration reloaded");
      },
      () => service.output.slice(-4000),
      60_000,
    );
    await fed;
    const { body } = await service.get<{ networks: string[] }>("/api/v1/status");
    expect(body.networks).toHaveLength(50_000);
    expect(await active()).toEqual([VICTIM]);
  }, 90_000);

  test("a stop does not wait for it", async () => {
    const service = await started(CONFIG);
    holdReload(service);
    service.signal("SIGHUP");
    const answer = service.post("/api/v1/config/reload", undefined).catch(() => null);
    expect((await service.get("/api/v1/status")).status).toBe(200);
    expect(await service.stop()).toBe(0);
    expect(service.output).toContain('"stopped;');
    expect(service.output).not.toContain("configuration reloaded");
    await answer;
  });
});

test("a reload says what is perhaps not meant, as the start did and as the check does", async () => {
  const service = await started(CONFIG);
  const { stdout } = Bun.spawnSync([
    process.execPath,
    join(import.meta.dir, "../../src/main.ts"),
    "check",
    service.configPath,
  ]);
  const warnings = stdout.toString().trim().split("\n").slice(0, -1);
  expect(warnings.length).toBeGreaterThan(1);
  service.signal("SIGHUP");
  await eventually(
    () => service.output.includes("configuration reloaded"),
    () => service.output,
  );
  const told = service.output
    .split("\n")
    .filter((line) => line.includes('"warnings"'))
    .map((line) => (JSON.parse(line) as { warnings: string[] }).warnings);
  expect(told).toEqual([warnings, warnings]);
});
