/**
 * The world of `make lab-scrub`: on the network of scrub-network.ts a BIRD in the router, Floodwall in the brain, its agent on
 * the scrub node; and what can be asked of them. Real processes, real packets, real routes.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type PinnedFilter, readPinnedStatus } from "../../../src/dataplane/kernel-filter.ts";
import { type Bird, startBird } from "../../fixtures/bgp/bird.ts";
import { BpfDirectory } from "../../fixtures/dataplane/bpf-directory.ts";
import { PATIENCE } from "../../fixtures/patience.ts";
import { type Answer, eventually, OutputProcess, ServiceProcess } from "../../fixtures/service.ts";
import type { Undo } from "../demo/stage.ts";
import { Namespaces } from "../namespaces.ts";
import { Relay } from "../relay.ts";
import { type Sent, sendFrom, type TrafficOptions } from "../world.ts";
import { connectPlaces, NODE_HOP, ORIGIN, type Places, serve, VICTIM } from "./scrub-network.ts";
import { Requests } from "./scrub-requests.ts";

const MAIN = join(import.meta.dir, "../../../src/main.ts");
const ASN = 64500;
const BGP_PORT = 1790;
/** The secret of each token is the name of its variable. */
const SECRETS = { AGENT: "AGENT", OPERATOR: "OPERATOR" };

export const NODE = "scrub1";
/** An emulated machine is slower in packets too. */
export const THRESHOLD_PPS = 5 * Math.round(1000 / PATIENCE);

interface Parts {
  readonly places: Places;
  readonly pins: BpfDirectory;
  readonly bird: Bird;
  readonly service: ServiceProcess;
  readonly agent: OutputProcess;
}

export class ScrubLab {
  readonly bird: Bird;
  readonly #parts: Parts;
  readonly #undo: Undo;

  private constructor(parts: Parts, undo: Undo) {
    this.bird = parts.bird;
    this.#parts = parts;
    this.#undo = undo;
  }

  /** Resolves when all parts are up and know each other. Each thing made, now or later, puts its undoing on the list. */
  static async create(options: LabOptions, undo: Undo): Promise<ScrubLab> {
    return new ScrubLab(await build(options, undo), undo);
  }

  /** Resolves with what was sent, when all of it is. */
  flood(traffic: Omit<TrafficOptions, "target">): Promise<Sent> {
    return sendFrom(this.#parts.places.attacker, { target: VICTIM, ...traffic });
  }

  requests(intervalMs: number): Requests {
    const requests = new Requests(this.#parts.places.client, { origin: ORIGIN, intervalMs });
    this.#undo.push(() => requests.stop());
    return requests;
  }

  async get<T>(path: string): Promise<T> {
    const answer: Answer<T> = await this.#parts.service.get<T>(path, SECRETS.OPERATOR);
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** What is in the kernel of the scrub node. */
  get filter(): PinnedFilter {
    return readPinnedStatus(this.#parts.pins.path);
  }

  /** Packets that the scrub node dropped under its rules. */
  get dropped(): number {
    return this.filter.verdicts["drop_rule"]?.packets ?? 0;
  }

  /** UDP packets that the victim's kernel took in. The flood is UDP, all else is not. */
  get arrived(): number {
    const [names, counts] = this.#parts.places.victim
      .run(["cat", "/proc/net/snmp"])
      .split("\n")
      .filter((line) => line.startsWith("Udp: "))
      .map((line) => line.split(" "));
    const count = (name: string) => Number(counts?.[names?.indexOf(name) ?? -1]);
    return count("InDatagrams") + count("NoPorts") + count("InErrors");
  }

  /** The way to the victim in the router's kernel: `via 192.0.2.2 dev scrub0`, or `dev victim0`. */
  get way(): string {
    const route = this.#parts.places.router.run(["ip", "-o", "route", "get", VICTIM]);
    return /(via \S+ )?dev \S+/.exec(route)?.[0] ?? route;
  }

  /** Ends the agent as a service manager would; returns its exit code. */
  stopAgent(): Promise<number> {
    return this.#parts.agent.stop();
  }

  get lastWords(): string {
    const { service, agent } = this.#parts;
    return `the service's last words:\n${service.output.slice(-4000)}\nthe agent's:\n${agent.output.slice(-3000)}`;
  }
}

export interface LabOptions {
  readonly apiPort: number;
  /** How long an attack must be calm before it is over. */
  readonly hysteresisSeconds: number;
}

async function build({ apiPort: port, hysteresisSeconds }: LabOptions, undo: Undo): Promise<Parts> {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-lab-scrub-${process.pid}-`));
  undo.push(() => rmSync(directory, { recursive: true, force: true }));
  const pins = new BpfDirectory();
  undo.push(() => pins.close());
  const namespaces = new Namespaces();
  undo.push(() => namespaces.close());
  const places = connectPlaces(namespaces);
  await serve(places.victim);
  const session = { name: "floodwall", address: "198.51.100.1", asn: ASN, port: BGP_PORT };
  const netns = places.router.name;
  const bird = await startBird({
    ...{ address: "198.51.100.2", port: BGP_PORT, asn: ASN, sessions: [session] },
    ...{ netns, isRouter: true },
  });
  undo.push(() => bird.stop());
  const relay = await Relay.open(places.brain, port, directory);
  undo.push(() => relay.close());
  const service = await ServiceProcess.start({
    config: brainConfig(hysteresisSeconds),
    api: `tokens: [{ name: node, token_env: AGENT, role: agent, node: ${NODE} }, { name: noc, token_env: OPERATOR, role: operator }]`,
    env: SECRETS,
    netns: places.brain.name,
    listenHost: "0.0.0.0",
    port,
    directory,
  });
  undo.push(() => service.remove());
  const config = join(directory, "scrub.yaml");
  writeFileSync(config, nodeConfig({ port, pinPath: pins.path, stateDir: join(directory, NODE) }));
  const agent = new OutputProcess(places.node.command([process.execPath, MAIN, "scrub", "--config", config]), SECRETS);
  undo.push(() => agent.remove());
  await agent.says("the service answers");
  await eventually(
    () => bird.isEstablished(session.name),
    () => `the BGP session did not come up; the service says:\n${service.output}`,
    20_000,
  );
  return { places, pins, bird, service, agent };
}

function brainConfig(hysteresisSeconds: number): string {
  return `
dry_run: false
networks: [203.0.113.0/24]
mitigation: divert
capture:
  interfaces:
    - { name: mirror0, mode: mirror, cpus: [1] }
thresholds: { pps: ${THRESHOLD_PPS}, mbps: 10000, flows_per_sec: 100000 }
ban: { ttl_seconds: 60, unban_hysteresis_seconds: ${hysteresisSeconds} }
scrubbing:
  communities: ["${ASN}:2"]
  nodes: [{ name: ${NODE}, next_hop: ${NODE_HOP} }]
bgp:
  local_asn: ${ASN}
  router_id: 198.51.100.1
  listen: "198.51.100.1:${BGP_PORT}"
  next_hop: 192.0.2.254
  neighbors:
    - { address: 198.51.100.2, remote_asn: ${ASN}, port: ${BGP_PORT} }
`;
}

interface NodeOptions {
  readonly port: number;
  readonly pinPath: string;
  readonly stateDir: string;
}

function nodeConfig({ port, pinPath, stateDir }: NodeOptions): string {
  return `
dry_run: false
node: ${NODE}
controller: { url: "http://10.0.0.5:${port}", token_env: AGENT }
dataplane: { interfaces: [net0], pin_path: ${pinPath} }
report_interval_seconds: 1
state_dir: ${stateDir}
`;
}
