import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, freePort, type ServiceOptions, ServiceProcess } from "../fixtures/service.ts";

const CONFIG = `
networks: [203.0.113.0/24, 2001:db8::/32]
protected_whitelist: [203.0.113.53]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
ban: { max_active_bans: 2 }
`;

interface Ban {
  readonly target: string;
  readonly state: string;
  readonly started_at: string;
  readonly expires_at: string;
  readonly dry_run: boolean;
  readonly reason?: string;
}

const undo: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

function folder(): string {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-scenario-${process.pid}-`));
  undo.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function started(options: Partial<ServiceOptions> = {}): Promise<ServiceProcess> {
  const service = await ServiceProcess.start({ config: CONFIG, ...options });
  undo.push(() => service.remove());
  return service;
}

/** Of a start that is to fail: its exit code and what it said. */
async function failedStart(options: Partial<ServiceOptions> = {}): Promise<{ code: number; output: string }> {
  const service = await ServiceProcess.spawn({ config: CONFIG, ...options });
  undo.push(() => service.remove());
  return { code: await service.ended(), output: service.output };
}

const activeTargets = async (service: ServiceProcess) =>
  (await service.get<{ bans: Ban[] }>("/api/v1/bans")).body.bans
    .filter((b) => b.state === "active")
    .map((b) => b.target);

describe("a service without capture", () => {
  test("says that it is a control plane only, and is safe by default", async () => {
    const service = await started();
    await service.says("control plane only");
    expect((await service.get("/api/v1/status")).body).toMatchObject({
      dry_run: true,
      networks: ["203.0.113.0/24", "2001:db8::/32"],
    });
  });

  test("ends cleanly on SIGTERM", async () => {
    const service = await started();
    expect(await service.stop("SIGTERM")).toBe(0);
  });

  test("that is stopping is not killed by a SIGHUP", async () => {
    const service = await started();
    // A body that does not come keeps the stop waiting.
    const socket = connect(service.port, "127.0.0.1").on("error", () => {});
    undo.push(() => void socket.destroy());
    const head = "POST /api/v1/ban HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n";
    await new Promise<void>((resolve) => socket.write(`${head}{`, () => resolve()));
    await service.get("/api/v1/status");
    service.signal("SIGTERM");
    await eventually(
      () => service.output.includes('"stopping"'),
      () => service.output,
    );
    expect(await service.stop("SIGHUP")).toBe(0);
    expect(service.output).toContain('"stopped;');
  });

  test("keeps acknowledged bans over kill -9, with their start and expiry", async () => {
    const directory = folder();
    const first = await started({ directory });
    const before = (await first.post<Ban>("/api/v1/ban", { ip: "203.0.113.7" })).body;
    await first.post("/api/v1/ban", { ip: "2001:db8::7" });
    await first.post("/api/v1/unban", { ip: "2001:db8::7" });
    await first.stop("SIGKILL");
    const second = await started({ directory });
    const { bans } = (await second.get<{ bans: Ban[] }>("/api/v1/bans")).body;
    expect(bans.map(({ target, state }) => `${target} ${state}`)).toEqual([
      "203.0.113.7 active",
      "2001:db8::7 withdrawn",
    ]);
    expect(bans[0]).toMatchObject({ started_at: before.started_at, expires_at: before.expires_at });
  });
});

describe("a reload", () => {
  test("takes the new file over, converts bans and names keys that need a restart", async () => {
    const service = await started();
    await service.post("/api/v1/ban", { ip: "203.0.113.7" });
    service.writeConfig(`${CONFIG.replace("203.0.113.0/24", "198.51.100.0/24").replace("203.0.113.53", "198.51.100.53")}
detection: { tick_ms: 50 }`);
    service.signal("SIGHUP");
    await eventually(
      async () => (await activeTargets(service)).length === 0,
      () => service.output,
    );
    const { bans } = (await service.get<{ bans: Ban[] }>("/api/v1/bans")).body;
    expect(bans[0]?.reason).toBe("target left configured networks");
    await service.says('"needs_restart":["detection.tick_ms"]');
  });

  test("with a broken file names every fault and leaves the running configuration as it is", async () => {
    const service = await started();
    service.writeConfig("networks: [203.0.113.1/24]\nthresholds: { pps: -1, mbps: 1, flows_per_sec: 1 }\nfoo: 1\n");
    service.signal("SIGHUP");
    await eventually(
      () => service.output.includes("reload refused"),
      () => service.output,
    );
    for (const path of ["networks", "thresholds.pps", "foo"]) expect(service.output).toContain(path);
    expect((await service.get("/api/v1/status")).body).toMatchObject({ thresholds: { pps: 1000 } });
    writeFileSync(service.configPath, "");
    rmSync(service.configPath);
    service.signal("SIGHUP");
    await eventually(
      () => service.output.includes("cannot be read"),
      () => service.output,
    );
    expect((await service.get("/healthz").catch(() => null)) ?? "text").toBe("text");
  });
});

describe("a start that cannot be", () => {
  test("names every fault of the configuration with file, line, path and rule", async () => {
    const { code, output } = await failedStart({
      config: "networks: []\nthresholds: { pps: 0, mbps: 1 }\nnetwork: x\n",
    });
    expect(code).toBe(1);
    expect(output).toMatch(/floodwall\.yaml:3: networks: /);
    expect(output).toMatch(/floodwall\.yaml:4: thresholds\.pps: /);
    expect(output).toMatch(/floodwall\.yaml:4: thresholds\.flows_per_sec: /);
    expect(output).toMatch(/floodwall\.yaml:5: network: .*networks/);
  });

  test("tells of a port in use", async () => {
    const port = await freePort();
    const holder = Bun.serve({ hostname: "127.0.0.1", port, fetch: () => new Response("mine") });
    undo.push(() => holder.stop(true));
    const { code, output } = await failedStart({ port });
    expect(code).toBe(1);
    expect(output).toContain(`cannot listen on 127.0.0.1:${port}: the port is in use`);
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("mine");
  });

  test("tells of a second service on the same state folder, which goes on", async () => {
    const directory = folder();
    const first = await started({ directory });
    const second = await failedStart({ directory, port: await freePort() });
    expect(second).toMatchObject({ code: 1, output: expect.stringContaining("is in use by another floodwall") });
    expect((await first.get("/api/v1/status")).status).toBe(200);
  });

  test("tells of a corrupt state database and leaves it as it is", async () => {
    const directory = folder();
    const first = await started({ directory });
    await first.stop();
    const path = join(directory, "state/state.db");
    const garbage = new Uint8Array(8192).fill(0x5a);
    writeFileSync(path, garbage);
    const { code, output } = await failedStart({ directory });
    expect(code).toBe(1);
    expect(output).toContain("state.db is corrupt");
    expect(new Uint8Array(readFileSync(path))).toEqual(garbage);
  });

  test("tells of a state folder that cannot be written", async () => {
    const directory = folder();
    writeFileSync(join(directory, "state"), "a file where the folder should be");
    const { code, output } = await failedStart({ directory });
    expect(code).toBe(1);
    expect(output).toContain("check state_dir");
  });

  test("tells of a secret that is not set", async () => {
    const bgp = `bgp: { local_asn: 64500, router_id: 192.0.2.1, next_hop: 192.0.2.9,
  neighbors: [{ address: 127.0.0.9, remote_asn: 64501, password_env: FLOODWALL_TEST_UNSET }] }`;
    const { code, output } = await failedStart({ config: `${CONFIG}${bgp}` });
    expect(code).toBe(1);
    expect(output).toContain("FLOODWALL_TEST_UNSET is not set");
  });
});

describe("the command line", () => {
  const floodwall = (...args: string[]) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([
      process.execPath,
      join(import.meta.dir, "../../src/main.ts"),
      ...args,
    ]);
    return { exitCode, output: stdout.toString() + stderr.toString() };
  };

  test("tells its version", () => {
    expect(floodwall("version")).toEqual({ exitCode: 0, output: expect.stringMatching(/^floodwall \d+\.\d+\.\d+\n$/) });
  });

  test.each([[["--help"]], [["serve", "-h"]]] as const)("shows how it is used, asked with %p", (args) => {
    expect(floodwall(...args)).toMatchObject({ exitCode: 0, output: expect.stringMatching(/^usage:\n/) });
  });

  test("checks a file: 0 with warnings, 1 with errors", () => {
    const path = join(folder(), "c.yaml");
    writeFileSync(path, CONFIG);
    expect(floodwall("check", path)).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining("dry_run: warning"),
    });
    writeFileSync(path, "nonsense: 1");
    expect(floodwall("check", path)).toMatchObject({
      exitCode: 1,
      output: expect.stringContaining(`${path}:1: nonsense: `),
    });
  });

  test.each([
    [[], "a command is missing"],
    [["dance"], "unknown command dance"],
    [["check"], "FILE is missing"],
    [["version", "now"], "unexpected now"],
    [["serve", "--fast"], "--fast"],
    [["serve", "--here"], "--here goes with check alone"],
  ] as const)("says what is wrong with %p", (args, complaint) => {
    expect(floodwall(...args)).toMatchObject({ exitCode: 2, output: expect.stringContaining(complaint) });
  });
});
