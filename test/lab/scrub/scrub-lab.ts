/**
 * The world of `make lab-scrub`: on the network of scrub-network.ts a BIRD in the router, Floodwall in the brain, its agent on
 * the scrub node; and the calls to them. Real processes, real packets, real routes.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type PinnedFilter, readPinnedStatus } from "../../../src/dataplane/kernel-filter.ts";
import { type Bird, startBird } from "../../fixtures/bgp/bird.ts";
import { BpfDirectory } from "../../fixtures/dataplane/bpf-directory.ts";
import { PATIENCE } from "../../fixtures/patience.ts";
import { FLOODWALL } from "../../fixtures/program.ts";
import { OutputProcess, ServiceProcess } from "../../fixtures/service.ts";
import type { Undo } from "../../fixtures/undo.ts";
import { Namespaces } from "../namespaces.ts";
import { Relay } from "../relay.ts";
import { type Sent, sendFrom, sessionUp, type TrafficOptions } from "../world.ts";
import { connectPlaces, NODE_HOP, ORIGIN, type Places, serve, VICTIM } from "./scrub-network.ts";
import { type Program, requestsOf } from "./user.ts";

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
  /** The newest ones. */
  service: ServiceProcess;
  agent: OutputProcess;
  readonly startAgent: () => Promise<OutputProcess>;
}

export class ScrubLab {
  readonly #parts: Parts;
  readonly #undo: Undo;

  private constructor(parts: Parts, undo: Undo) {
    this.#parts = parts;
    this.#undo = undo;
  }

  /** Resolves when all parts are up and know each other. Each thing made, now or later, puts its undoing on the list. */
  static async create(apiPort: number, undo: Undo): Promise<ScrubLab> {
    return new ScrubLab(await build(apiPort, undo), undo);
  }

  get bird(): Bird {
    return this.#parts.bird;
  }

  /** The newest. */
  get service(): ServiceProcess {
    return this.#parts.service;
  }

  /** Resolves with what was sent, when all of it is. */
  flood(traffic: Omit<TrafficOptions, "target">): Promise<Sent> {
    return sendFrom(this.#parts.places.attacker, { target: VICTIM, ...traffic });
  }

  get places(): Places {
    return this.#parts.places;
  }

  requests(intervalMs: number): Program {
    const requests = requestsOf(this.#parts.places.client, { origin: ORIGIN, intervalMs });
    this.#undo.add(() => requests.stop());
    return requests;
  }

  async get<T>(path: string): Promise<T> {
    const { status, body } = await this.#parts.service.get<T>(path, SECRETS.OPERATOR);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
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
    const text = this.#parts.places.victim.run(["cat", "/proc/net/snmp"]);
    const [names, counts] = [...text.matchAll(/^Udp: (.*)$/gm)].map(([, line = ""]) => line.split(" "));
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

  async killAgent(): Promise<void> {
    await this.#parts.agent.stop("SIGKILL");
  }

  /** With the state of the one before, which must have ended. */
  async startAgent(): Promise<void> {
    this.#parts.agent = await this.#parts.startAgent();
  }

  async killBrain(): Promise<void> {
    await this.#parts.service.stop("SIGKILL");
  }

  /** With the state of the one before, which must have ended. */
  async startBrain(): Promise<void> {
    const service = await ServiceProcess.start(this.#parts.service.again);
    this.#undo.add(() => service.remove());
    this.#parts.service = service;
  }

  get lastWords(): string {
    const { service, agent } = this.#parts;
    return `the service's last words:\n${service.output.slice(-4000)}\nthe agent's:\n${agent.output.slice(-3000)}`;
  }
}

async function build(port: number, undo: Undo): Promise<Parts> {
  const directory = undo.folder("lab-scrub");
  const pins = new BpfDirectory();
  undo.add(() => pins.close());
  const namespaces = new Namespaces();
  undo.add(() => namespaces.close());
  const places = connectPlaces(namespaces);
  await serve(places.victim);
  const session = { name: "floodwall", address: "198.51.100.1", asn: ASN, port: BGP_PORT };
  const bird = await startBird({
    ...{ address: "198.51.100.2", port: BGP_PORT, asn: ASN, sessions: [session] },
    ...{ netns: places.router.name, isRouter: true },
  });
  undo.add(() => bird.stop());
  const relay = await Relay.open(places.brain, port, directory);
  undo.add(() => relay.close());
  const service = await ServiceProcess.start({
    config: BRAIN,
    api: `tokens: [{ name: node, token_env: AGENT, role: agent, node: ${NODE} }, { name: noc, token_env: OPERATOR, role: operator }]`,
    ...{ env: SECRETS, netns: places.brain.name, listenHost: "0.0.0.0", port, directory },
  });
  undo.add(() => service.remove());
  const config = join(directory, "scrub.yaml");
  writeFileSync(
    config,
    `
dry_run: false
node: ${NODE}
controller: { url: "http://10.0.0.5:${port}", token_env: AGENT, plain_http: true }
dataplane: { interfaces: [net0], pin_path: ${pins.path} }
report_interval_seconds: 1
state_dir: ${join(directory, NODE)}
`,
  );
  const command = places.node.command([...FLOODWALL, "scrub", "--config", config]);
  const startAgent = async () => {
    const agent = new OutputProcess(command, SECRETS);
    undo.add(() => agent.remove());
    await agent.says("floodwall scrub is up");
    return agent;
  };
  const agent = await startAgent();
  await agent.says("the service answers");
  await sessionUp(bird, service);
  return { places, pins, bird, service, agent, startAgent };
}

const BRAIN = `
dry_run: false
networks: [203.0.113.0/24]
mitigation: divert
capture:
  interfaces:
    - { name: mirror0, mode: mirror, cpus: [1] }
thresholds: { pps: ${THRESHOLD_PPS}, mbps: 10000, flows_per_sec: 100000 }
ban: { ttl_seconds: 60, unban_hysteresis_seconds: 2 }
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
