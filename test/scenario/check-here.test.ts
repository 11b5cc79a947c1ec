/** `floodwall check --here` and the start of the service, on interfaces of a network namespace of their own. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Dropping } from "../../src/http/wire/dataplane.ts";
import { MACHINE_LOOK_MS } from "../../src/service/machine-watch.ts";
import { BpfDirectory, bpfUnavailable } from "../fixtures/dataplane/bpf-directory.ts";
import { DEVICE, Veth, vethUnavailable } from "../fixtures/dataplane/veth.ts";
import { FLOODWALL } from "../fixtures/program.ts";
import { freePort, OutputProcess, ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { Relay } from "../lab/relay.ts";

/** As a service that was given too little: the kernel takes the mirror program alone then. */
const WITHOUT_PERFMON = ["setpriv", "--bounding-set=-perfmon,-sys_admin", "--inh-caps=-perfmon,-sys_admin"];

const unavailable = vethUnavailable ?? bpfUnavailable;
const reason = unavailable === null ? "" : ` (skipped: ${unavailable})`;

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly about?: string;
  readonly found?: string;
  readonly time: string;
}

const undo = new Undo();
afterEach(() => undo.all());
let pins: BpfDirectory;
let veth: Veth;
let directory: string;

const SERVICE = () => `dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
capture: { interfaces: [{ name: ${DEVICE}, mode: inline }] }
dataplane: { interfaces: [${DEVICE}], pin_path: ${pins.path} }
`;
const NODE = () => `node: scrub1
controller: { url: "http://127.0.0.1:8080" }
dataplane: { interfaces: [${DEVICE}], pin_path: ${pins.path} }
`;

/** The lines of the machine by what they are about, and the last one. */
function checkHere(config: string) {
  const path = join(directory, "floodwall.yaml");
  writeFileSync(path, config);
  const command = veth.far.command([...FLOODWALL, "check", "--here", path]);
  const { exitCode, stdout } = Bun.spawnSync(command);
  const lines = stdout.toString().trimEnd().split("\n");
  const ofMachine = lines.slice(lines.indexOf(`${path}: valid`) + 1);
  const problems = ofMachine.slice(0, -1).filter((line) => !line.startsWith("ok "));
  return { exitCode, lines: ofMachine.slice(0, -1), problems, summary: ofMachine.at(-1) };
}

describe.skipIf(unavailable !== null)(`on a veth${reason}`, () => {
  beforeEach(() => {
    pins = new BpfDirectory();
    undo.add(() => pins.close());
    veth = new Veth();
    undo.add(() => veth.close());
    directory = undo.folder("here");
  });

  test("a configuration that works here has a line for each thing that it needs", () => {
    const { exitCode, lines, summary } = checkHere(SERVICE());
    expect([exitCode, summary]).toEqual([0, "this machine: has what the configuration needs"]);
    expect(lines).toEqual([
      expect.stringMatching(/^ok {7}kernel: Linux \d/),
      "ok       BPF JIT: on",
      "ok       capabilities: CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON",
      `ok       dataplane.pin_path: ${pins.path} lies on a BPF file system`,
      expect.stringMatching(
        /^ok {7}interface veth: veth 1\.0, MTU 1500 \(.*\), RX queues 1 of \d+, XDP of the driver: /,
      ),
      expect.stringMatching(/^ok {7}program xdp_filter: loads: \d+ instructions, \d+ verified, /),
      expect.stringMatching(/^ok {7}program xdp_inline: loads: /),
      expect.stringMatching(/^ok {7}program xdp_inline \(filtering\): loads: /),
    ]);
    // Nothing is attached or pinned by looking.
    expect(veth.far.run(["ip", "-details", "link", "show", DEVICE])).not.toContain("xdp");
    expect(existsSync(pins.path)).toBe(false);
  });

  test("what is missing or down is an error, also at the start of a scrub node; that needs the filter alone", async () => {
    const missing = checkHere(SERVICE().replaceAll(DEVICE, "eth7"));
    expect(missing.exitCode).toBe(1);
    const remedy = "create it, or correct its name in capture.interfaces and dataplane.interfaces";
    expect(missing.problems).toEqual([`error    interface eth7: does not exist: ${remedy}`]);
    veth.far.run(["ip", "link", "set", DEVICE, "down"]);
    const { exitCode, lines, problems } = checkHere(NODE());
    expect([exitCode, problems]).toEqual([1, ["error    interface veth: is down: `ip link set veth up`"]]);
    expect(lines.filter((line) => line.includes("program "))).toEqual([
      expect.stringMatching(/^ok {7}program xdp_filter: loads: /),
    ]);
    const path = join(directory, "scrub.yaml");
    writeFileSync(path, `${NODE()}state_dir: ${directory}/state\n`);
    const agent = new OutputProcess(veth.far.command([...FLOODWALL, "scrub", "--config", path]));
    undo.add(() => agent.remove());
    await agent.says('"about":"interface veth","found":"is down"');
  });

  test("a service in dry run logs at its start what would fail once it is live, before it captures", async () => {
    const port = await freePort();
    const relay = await Relay.open(veth.far, port, directory);
    undo.add(() => relay.close());
    const config = SERVICE().replace("dry_run: false", "dry_run: true");
    const options = { config, netns: veth.far.name, port, directory, runner: WITHOUT_PERFMON };
    const service = await ServiceProcess.start(options);
    undo.add(() => service.remove());
    await service.says('"capture failed');
    await service.says('"about":"program xdp_filter"');
    const lines = service.output.split("\n").filter((line) => line.startsWith("{"));
    const logged = lines.map((line) => JSON.parse(line) as LogLine);
    const refused = logged.find(({ about }) => about === "program xdp_filter");
    expect(refused).toMatchObject({ level: "error", msg: "this machine lacks what the configuration needs" });
    expect(refused?.found).toMatch(/^Linux \S+ refused the XDP filter \(xdp_filter\): its verifier does not take/);
    expect(refused?.found).toContain("CAP_PERFMON missing: run as root");
    // A later look at the machine may have logged more by now. A start waits for a look, and for a slow one no longer.
    const captured = logged.findIndex(({ msg }) => msg.startsWith("capture failed"));
    const waitedMs = Date.parse(logged[captured]?.time ?? "") - Date.parse(logged[0]?.time ?? "");
    if (waitedMs < MACHINE_LOOK_MS / 2) expect(logged.indexOf(refused as LogLine)).toBeLessThan(captured);
    const { problems } = (await service.get<{ dataplane: Dropping }>("/api/v1/status")).body.dataplane;
    expect(problems).toContainEqual({ about: "program xdp_filter", level: "error", found: refused?.found ?? "" });
    veth.far.run(["ip", "link", "set", DEVICE, "down"]);
    expect((await service.post("/api/v1/config/reload", {})).status).toBe(200);
    await service.says('"about":"interface veth","found":"is down"');
  }, 60_000);
});
