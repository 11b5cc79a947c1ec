/**
 * The example configurations in deploy/ run: each as a real service in a network namespace that has the interfaces and the
 * BGP neighbor that the file names. What the service warns of is no more than what the file's own comments say.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseDocument } from "yaml";
import { type Bird, startBird } from "../fixtures/bgp/bird.ts";
import { BpfDirectory, bpfUnavailable } from "../fixtures/dataplane/bpf-directory.ts";
import { eventually, freePort, ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { Namespaces, namespacesUnavailable } from "../lab/namespaces.ts";
import { Relay } from "../lab/relay.ts";
import { sessionUp } from "../lab/world.ts";
import { ROOT } from "../source-tree.ts";

const unavailable = namespacesUnavailable() ?? bpfUnavailable;
const reason = unavailable === null ? "" : ` (skipped: ${unavailable})`;

/** The secret of each token is the name of its variable. */
const TOKENS = ["NOC", "MONITORING", "SCRUB1", "SCRUB2", "EDGE1"].map((name) => `FLOODWALL_TOKEN_${name}`);
const SECRETS = Object.fromEntries(TOKENS.map((name) => [name, name]));
const NOC = "FLOODWALL_TOKEN_NOC";
const ASN = 64500;

const undo = new Undo();
afterEach(() => undo.all());

interface Running {
  readonly service: ServiceProcess;
  readonly bird: Bird;
}

/** Changed is only where the file touches the rest of the machine: folders and the port of the API. */
async function run(file: string): Promise<Running> {
  const directory = undo.folder("example");
  const pins = new BpfDirectory();
  undo.add(() => pins.close());
  const namespaces = new Namespaces();
  undo.add(() => namespaces.close());
  const [box, router] = [namespaces.add("box"), namespaces.add("router")];
  for (const device of ["mirror0", "wan0"]) {
    namespaces.connect({ namespace: router, device }, { namespace: box, device });
  }
  namespaces.connect(
    { namespace: router, device: "bgp0", addresses: ["192.0.2.1/24"] },
    { namespace: box, device: "bgp0", addresses: ["192.0.2.2/24"] },
  );
  const session = { name: "floodwall", address: "192.0.2.2", asn: ASN, port: 179 };
  const bird = await startBird({ address: "192.0.2.1", port: 179, asn: ASN, sessions: [session], netns: router.name });
  undo.add(() => bird.stop());
  const port = await freePort();
  const relay = await Relay.open(box, port, directory);
  undo.add(() => relay.close());
  const config = parseDocument(readFileSync(join(ROOT, "deploy", file), "utf8"));
  config.set("state_dir", join(directory, "state"));
  config.setIn(["api", "listen"], `127.0.0.1:${port}`);
  if (config.hasIn(["dataplane"])) config.setIn(["dataplane", "pin_path"], pins.path);
  if (config.hasIn(["edge"])) config.setIn(["edge", "zones_file"], join(ROOT, "deploy/zones.yaml"));
  const options = { isWholeConfig: true, netns: box.name, env: SECRETS, directory, port };
  const service = await ServiceProcess.start({ config: config.toString(), ...options });
  undo.add(() => service.remove());
  return { service, bird };
}

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly warnings?: readonly string[];
}

/** What an operator would read: the configuration's warnings without file and line, then what else is above `info`. */
function warned({ output }: ServiceProcess): string[] {
  const lines = output.trim().split("\n");
  return lines
    .map((line) => JSON.parse(line) as LogLine)
    .filter(({ level }) => level !== "info")
    .flatMap(({ msg, warnings = [msg] }) => warnings.map((text) => text.replace(/^\S+\.yaml:\d+: /, "")));
}

const DRY_RUN = "dry_run: warning: is true: bans are recorded, nothing is announced";
const status = async (service: ServiceProcess, secret?: string) => (await service.get("/api/v1/status", secret)).body;

describe.skipIf(unavailable !== null)(`the example${reason}`, () => {
  test("mirror.yaml takes the frames of its mirror port, and has a BGP session", async () => {
    const { service, bird } = await run("mirror.yaml");
    expect(await status(service)).toMatchObject({
      dry_run: true,
      networks: ["203.0.113.0/24", "2001:db8:113::/48"],
      capture: { interfaces: [{ name: "mirror0", kind: "af_xdp", state: "running" }] },
    });
    await sessionUp(bird, service);
    expect(warned(service)).toEqual([
      DRY_RUN,
      "capture.interfaces[0].mode: warning: takes every frame off mirror0: intended for a SPAN or tap port; other traffic on it is lost",
    ]);
  });

  test("inline.yaml counts on its interface, and would drop there", async () => {
    const { service } = await run("inline.yaml");
    // The look at the machine may last longer than the start.
    const isLooked = async () => "problems" in ((await status(service))["dataplane"] as object);
    await eventually(isLooked, "nothing is known of the machine");
    expect(await status(service)).toMatchObject({
      dry_run: true,
      capture: { interfaces: [{ name: "wan0", kind: "xdp_inline", state: "running" }] },
      dataplane: { state: "dry_run", problems: [] },
    });
    expect(warned(service)).toEqual([DRY_RUN]);
  });

  test("telemetry.yaml listens for its exporters, and counts all traffic by them", async () => {
    const { service } = await run("telemetry.yaml");
    const interfaces = ["[::]:6343", "[::]:2055"].map((name) => ({ name, kind: "flow", state: "running" }));
    expect(await status(service)).toMatchObject({ capture: { interfaces }, telemetry: { exporters: 2, faulty: 0 } });
    expect(warned(service)).toEqual([DRY_RUN]);
  });

  test("control-plane.yaml answers operators and nodes by their tokens, and has a BGP session", async () => {
    const { service, bird } = await run("control-plane.yaml");
    expect((await service.get("/api/v1/status")).status).toBe(401);
    expect(await status(service, NOC)).toMatchObject({ dry_run: true, nodes_total: 2, edge_nodes_total: 1 });
    const rows = async (path: string, token: string) => (await service.get(`/api/v1/${path}`, token)).body;
    for (const name of ["scrub1", "scrub2"]) {
      const token = `FLOODWALL_TOKEN_${name.toUpperCase()}`;
      expect(await rows(`dataplane/rules?node=${name}`, token)).toMatchObject({ bans: [] });
    }
    const zones = await rows("edge/zones?node=edge1", "FLOODWALL_TOKEN_EDGE1");
    expect(zones).toMatchObject({ zones: [{ name: "www.example.net" }] });
    const ban = await service.post("/api/v1/ban", { ip: "203.0.113.7" }, NOC);
    expect(ban.body).toMatchObject({ state: "active", method: "divert", dry_run: true });
    await sessionUp(bird, service);
    expect(warned(service)).toEqual([
      DRY_RUN,
      "capture: warning: is absent: no packets are seen, only manual bans work",
      "no capture is configured: control plane only, no attack detection",
    ]);
  });
});
