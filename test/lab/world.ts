/**
 * The small world of the demonstration and of the soak: an attacker and a BGP peer, each in a network namespace of its
 * own, and between them a box with Floodwall on a real AF_XDP capture and a real BGP session. Real packets, real routes.
 */
import { join } from "node:path";
import { type Bird, startBird } from "../fixtures/bgp/bird.ts";
import { outputOf } from "../fixtures/child-output.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { type Namespace, Namespaces } from "./namespaces.ts";
import { Relay } from "./relay.ts";

export const TRAFFIC_SOURCE = join(import.meta.dir, "../../build/lab/traffic_source");
const ASN = 64500;
const BGP_PORT = 1790;

export const NETWORK = "203.0.113.0/24";
export const NETWORK6 = "2001:db8:113::/48";
export const NEXT_HOP = "192.0.2.1";
export const NEXT_HOP6 = "100::1";
export const SCRUBBER = "192.0.2.2";
const SCRUBBER6 = "2001:db8::2";
export const DIVERT_COMMUNITY = "64500:2";
export const THRESHOLD_PPS = 20_000;
/** The first rung of an IPv6 ladder filters, the second blackholes, s after the ban's start. */
export const LADDER_SECONDS = 3;
/** Hosts of each hostgroup are from here on, seven of them; all others of NETWORK are blackholed. */
export const FILTERED = "203.0.113.241";
export const DIVERTED = "203.0.113.249";
export const LADDERED = "2001:db8:113::7";

/** The IPv4 address with this number after the first; all in one /24. */
export function hostAfter(first: string, offset: number): string {
  const dot = first.lastIndexOf(".") + 1;
  return `${first.slice(0, dot)}${Number(first.slice(dot)) + offset}`;
}

export interface WorldOptions {
  readonly apiPort: number;
  /** How long an attack must be calm before it is over. */
  readonly hysteresisSeconds: number;
  readonly mode: "mirror" | "inline";
  /** More of the configuration. */
  readonly config?: string;
  /** Runs the service: with fewer rights, say. */
  readonly runner?: readonly string[];
  /** BGP neighbors. Default: 1. */
  readonly neighbors?: 1 | 2;
}

export interface TrafficOptions {
  readonly profile: "udp" | "syn" | "ack" | "rst" | "dns" | "query" | "mixed";
  readonly target: string;
  readonly pps: number;
  readonly seconds: number;
  /** Packets after which it ends, if that is sooner. */
  readonly count?: number;
  readonly sources?: number;
  /** Of the far end, in turn. */
  readonly ports?: number;
  /** Addresses from `target` on, in turn. */
  readonly hosts?: number;
  /** Default: by rate. */
  readonly path?: "socket" | "live";
  /** The first source. */
  readonly src?: string;
  /** Default: wire0. */
  readonly dev?: string;
  /** Of a frame of the profile udp, without check sum. */
  readonly bytes?: number;
  /** Its time is reported; the first packet is 1. */
  readonly mark?: number;
  /** Of the sender; default: the first. */
  readonly cpu?: number;
}

/** What the traffic source says that it sent. */
export interface Sent {
  readonly packets: number;
  readonly bytes: number;
  readonly device_drops: number;
  readonly first_packet_wall_ns: number;
  readonly duration_ns: number;
  /** From the first packet to the marked one; 0: none, or not sent. */
  readonly marked_packet_ns: number;
  /** By how much the latest packet up to the marked one was late. */
  readonly late_ns: number;
}

export class World {
  readonly #undo: Undo;

  private constructor(
    /** By neighbor; the first is `bird`. */
    readonly birds: readonly Bird[],
    readonly service: ServiceProcess,
    /** Sends; resolves with what was sent, when all of it is. */
    readonly send: (traffic: TrafficOptions) => Promise<Sent>,
    undo: Undo,
  ) {
    this.#undo = undo;
  }

  get bird(): Bird {
    return this.birds[0] as Bird;
  }

  /** Resolves when the service is ready and its BGP sessions are up. What was made is gone again when it rejects. */
  static async create(options: WorldOptions): Promise<World> {
    const undo = new Undo();
    try {
      return await World.#build(options, undo);
    } catch (cause) {
      await undo.all();
      throw cause;
    }
  }

  static async #build(options: WorldOptions, undo: Undo): Promise<World> {
    const { apiPort: port, runner = [], neighbors = 1 } = options;
    const directory = undo.folder("lab");
    const namespaces = new Namespaces();
    undo.add(() => namespaces.close());
    const [attacker, box] = [namespaces.add("attacker"), namespaces.add("box")];
    namespaces.connect({ namespace: attacker, device: "wire0" }, { namespace: box, device: "mirror0" });
    const birds: Bird[] = [];
    for (let i = 0; i < neighbors; i++) {
      const peer = namespaces.add(`peer${i}`);
      const [near, far] = [`198.51.10${i}.1`, `198.51.10${i}.2`];
      namespaces.connect(
        { namespace: box, device: `bgp${i}`, addresses: [`${near}/24`] },
        { namespace: peer, device: "bgp0", addresses: [`${far}/24`] },
      );
      const session = { name: "floodwall", address: near, asn: ASN, port: BGP_PORT };
      const bird = await startBird({ address: far, port: BGP_PORT, asn: ASN, netns: peer.name, sessions: [session] });
      undo.add(() => bird.stop());
      birds.push(bird);
    }
    const relay = await Relay.open(box, port, directory);
    undo.add(() => relay.close());
    const config = boxConfig(options);
    const service = await ServiceProcess.start({ config, netns: box.name, runner, port, directory });
    undo.add(() => service.remove());
    for (const bird of birds) await sessionUp(bird, service);
    return new World(birds, service, (traffic) => sendFrom(attacker, traffic), undo);
  }

  close(): Promise<void> {
    return this.#undo.all();
  }
}

/** @param runner runs the traffic source: with another priority, say. */
export async function sendFrom(
  attacker: Namespace,
  traffic: TrafficOptions,
  runner: readonly string[] = [],
): Promise<Sent> {
  const { target, sources = 1, hosts = 1, ports = 1, ...rest } = traffic;
  const values = { dev: "wire0", dst: target, sources, hosts, ports, cpu: 0, ...rest };
  const flags = Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const command = attacker.command([...runner, TRAFFIC_SOURCE, ...flags]);
  return JSON.parse(await outputOf({ name: "traffic source", command })) as Sent;
}

export function sessionUp(bird: Bird, service: ServiceProcess): Promise<void> {
  return eventually(
    () => bird.isEstablished("floodwall"),
    () => `the BGP session did not come up; the service says:\n${service.output}`,
    20_000,
  );
}

function boxConfig({ hysteresisSeconds, mode, config = "", neighbors = 1 }: WorldOptions): string {
  // Where no address is named, sessions of all networks come in.
  const listen = neighbors === 1 ? "198.51.100.1" : "0.0.0.0";
  const peers = Array.from(
    { length: neighbors },
    (_, i) => `    - { address: 198.51.10${i}.2, remote_asn: ${ASN}, port: ${BGP_PORT} }`,
  );
  return `
dry_run: false
networks: [${NETWORK}, "${NETWORK6}"]
protected_whitelist: [203.0.113.53]
capture:
  interfaces:
    - { name: mirror0, mode: ${mode}, cpus: [1] }
thresholds: { pps: ${THRESHOLD_PPS}, mbps: 1000, flows_per_sec: 50000 }
ban: { ttl_seconds: 60, unban_hysteresis_seconds: ${hysteresisSeconds}, repeat_window_seconds: 0 }
scrubbing: { next_hop: ${SCRUBBER}, next_hop6: "${SCRUBBER6}", communities: ["${DIVERT_COMMUNITY}"], nodes: [] }
hostgroups:
  - { name: resolvers, networks: [203.0.113.240/29], mitigation: flowspec }
  - { name: shops, networks: [203.0.113.248/29], mitigation: divert }
  - name: servers
    networks: ["${NETWORK6}"]
    escalation:
      - { after_seconds: 0, action: flowspec }
      - { after_seconds: ${LADDER_SECONDS}, action: blackhole }
bgp:
  local_asn: ${ASN}
  router_id: 198.51.100.1
  listen: "${listen}:${BGP_PORT}"
  next_hop: ${NEXT_HOP}
  communities: ["65535:666"]
  local_pref: 200
  neighbors:
${peers.join("\n")}
${config}`;
}
