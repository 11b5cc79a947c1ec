/**
 * An inline box that scrubs: attackers and users come in by two interfaces, and the box, on which Floodwall runs, routes
 * what it lets pass to the victim. Real stacks, real packets.
 *
 *   attacker ── in0 ┐
 *   client ──── in1 ┴ box ── out0 ── victim
 */
import { join } from "node:path";
import { BpfDirectory } from "../../fixtures/dataplane/bpf-directory.ts";
import { freePort, ServiceProcess } from "../../fixtures/service.ts";
import type { Undo } from "../../fixtures/undo.ts";
import { type Namespace, Namespaces } from "../namespaces.ts";
import { Relay } from "../relay.ts";
import { TRAFFIC_SOURCE } from "../world.ts";
import { VICTIM } from "./scrub-network.ts";

export const THRESHOLD_PPS = 2000;
/** Of the flood; spoofed ones, too. */
const ATTACKERS = "198.18.0.0/15";
export const CLIENT = "192.0.2.130";
/** The first half of further addresses of the client. */
export const NEWCOMERS = "198.51.";
const XDP_PASS = join(TRAFFIC_SOURCE, "../xdp_pass.bpf.o");

export interface BoxBan {
  readonly method: string;
  readonly state: string;
  readonly route: string;
  readonly dropped_packets?: number;
  readonly dropped_by?: Readonly<Record<string, number>>;
  readonly challenged_packets?: number;
  readonly validated_sources?: number;
}

export interface BoxOptions {
  /** The section, as YAML in flow style. */
  readonly scrub: string;
  /** What the victim sends is filtered, too. */
  readonly seesAnswers?: boolean;
  /** Further keys of `dataplane`, as YAML in flow style. */
  readonly dataplane?: string;
  /** How long an attack must be calm before it is over. Default: 1. */
  readonly hysteresisSeconds?: number;
  /** Sections of the configuration. */
  readonly more?: string;
  /** Further keys of `api`, as YAML in flow style, and the secrets that they name. */
  readonly api?: string;
  readonly env?: Readonly<Record<string, string>>;
}

type BoxPlaces = Readonly<Record<"attacker" | "client" | "box" | "victim", Namespace>>;

export interface BoxLab extends BoxPlaces {
  /** The newest. */
  readonly service: ServiceProcess;
  /** Where the filter is pinned. */
  readonly pinPath: string;
  /** None when no service answers. */
  readonly bans: () => Promise<BoxBan[]>;
  /** Starts the service again, with its state, after its end. */
  readonly startAgain: () => Promise<void>;
  /** With other sections in the place of `more`. Throws what the service says against them. */
  readonly reload: (more: string) => Promise<void>;
}

export async function makeBoxLab(undo: Undo, options: BoxOptions): Promise<BoxLab> {
  const directory = undo.folder("scrub-here");
  const pins = new BpfDirectory();
  undo.add(() => pins.close());
  const namespaces = new Namespaces();
  undo.add(() => namespaces.close());
  const places = connectBox(namespaces);
  const port = await freePort();
  const relay = await Relay.open(places.box, port, directory);
  undo.add(() => relay.close());
  const config = (more: string) => boxConfig({ ...options, more }, pins.path);
  let service = await ServiceProcess.start({
    ...{ config: config(options.more ?? ""), netns: places.box.name, port, directory },
    ...{ api: options.api ?? "", env: options.env ?? {} },
  });
  undo.add(() => service.remove());
  return {
    ...places,
    pinPath: pins.path,
    get service() {
      return service;
    },
    bans: async () => {
      const answer = await service.get<{ bans: BoxBan[] }>("/api/v1/bans").catch(() => null);
      return answer?.body.bans ?? [];
    },
    startAgain: async () => {
      service = await ServiceProcess.start(service.again);
    },
    reload: async (more) => {
      service.writeConfig(config(more));
      const { status, body } = await service.post("/api/v1/config/reload", {});
      if (status !== 200) throw new Error(`the reload was refused: ${JSON.stringify(body)}`);
    },
  };
}

function connectBox(namespaces: Namespaces): BoxPlaces {
  const [attacker, client] = [namespaces.add("attacker"), namespaces.add("client")];
  const [box, victim] = [namespaces.add("box"), namespaces.add("victim")];
  namespaces.connect(
    { namespace: attacker, device: "wire0", addresses: ["198.18.255.1/30"] },
    { namespace: box, device: "in0", addresses: ["198.18.255.2/30"] },
  );
  namespaces.connect(
    { namespace: client, device: "net0", addresses: [`${CLIENT}/25`] },
    { namespace: box, device: "in1", addresses: ["192.0.2.129/25"] },
  );
  namespaces.connect(
    { namespace: box, device: "out0", addresses: ["203.0.113.1/24"] },
    { namespace: victim, device: "net0", addresses: [`${VICTIM}/24`] },
  );
  client.run(["ip", "route", "add", "default", "via", "192.0.2.129"]);
  client.run(["ip", "route", "add", "local", `${NEWCOMERS}0.0/16`, "dev", "lo"]);
  box.run(["ip", "route", "add", `${NEWCOMERS}0.0/16`, "via", CLIENT]);
  attacker.run(["ip", "route", "add", "203.0.113.0/24", "via", "198.18.255.2"]);
  victim.run(["ip", "route", "add", "default", "via", "203.0.113.1"]);
  // By a router, as in life: on the link each spoofed source would take a place in the box's table of neighbors.
  box.run(["ip", "route", "add", ATTACKERS, "via", "198.18.255.1"]);
  box.run(["sh", "-ec", "echo 1 > /proc/sys/net/ipv4/ip_forward"]);
  // What XDP sends back over a veth arrives only where the far end has a program too.
  for (const [end, device] of [
    [attacker, "wire0"],
    [client, "net0"],
  ] as const) {
    end.run(["ip", "link", "set", "dev", device, "xdpdrv", "object", XDP_PASS, "section", "xdp"]);
  }
  return { attacker, client, box, victim };
}

function boxConfig(options: BoxOptions, pinPath: string): string {
  const { scrub, seesAnswers = false, dataplane, hysteresisSeconds = 1, more } = options;
  const filtered = seesAnswers ? "in0, in1, out0" : "in0, in1";
  const keys = [`interfaces: [${filtered}]`, `pin_path: ${pinPath}`, ...(dataplane === undefined ? [] : [dataplane])];
  return `
dry_run: false
networks: [203.0.113.0/24]
capture:
  interfaces:
    - { name: in0, mode: inline }
    - { name: in1, mode: inline }
dataplane: { ${keys.join(", ")} }
thresholds: { pps: ${THRESHOLD_PPS}, mbps: 1000, flows_per_sec: 50000 }
ban: { ttl_seconds: 60, unban_hysteresis_seconds: ${hysteresisSeconds}, repeat_window_seconds: 0 }
mitigation: scrub
scrub: ${scrub}
${more}`;
}

/** What the victim's stack has received. */
export function received(victim: Namespace): number {
  return Number(victim.run(["cat", "/sys/class/net/net0/statistics/rx_packets"]));
}

/** Resolves with a function that counts the packets that came from the attacker and passed the filter since then. */
export function countAttackers({ box }: BoxLab, except = "0.0.0.0/32"): () => number {
  const rule = `iifname in0 ip saddr != ${except} counter`;
  box.run(["nft", `table ip lab { chain passed { type filter hook prerouting priority -300; ${rule}; }; }`]);
  return () => Number(/packets (\d+)/.exec(box.run(["nft", "list", "table", "ip", "lab"]))?.[1]);
}

/** A TCP server that sends back what it gets, at each address; resolves when it is up. Ends with its namespace. */
export async function echo(victim: Namespace, port: number): Promise<void> {
  const socket = "{ data(peer, bytes) { peer.write(bytes); } }";
  const program = `Bun.listen({ hostname: "0.0.0.0", port: ${port}, socket: ${socket} }); console.log("up");`;
  const server = Bun.spawn(victim.command([process.execPath, "-e", program]), { stdin: "ignore", stdout: "pipe" });
  for await (const _ of server.stdout) return;
  throw new Error("the echo server did not start");
}

/** One connection that sends a line every tenth of a second; `answers` is how many came back, `isClosed` its end. */
export class LongConnection {
  answers = 0;
  isClosed = false;
  #answeredAtMs = performance.now();
  #longestPauseMs = 0;

  constructor(client: Namespace, port: number, undo: Undo) {
    const socket = `{ data() { console.log("answer"); }, close() { console.log("closed"); process.exit(); } }`;
    const program = `const peer = await Bun.connect({ hostname: "${VICTIM}", port: ${port}, socket: ${socket} });
      setInterval(() => peer.write("line"), 100);`;
    const command = client.command([process.execPath, "-e", program]);
    const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
    undo.add(() => child.kill());
    void this.#read(child.stdout);
  }

  /** Since the last answer. */
  get silentMs(): number {
    return performance.now() - this.#answeredAtMs;
  }

  /** The longest time without an answer since the last look, ms; also one that lasts. */
  takeLongestPauseMs(): number {
    const longest = Math.max(this.#longestPauseMs, this.silentMs);
    this.#longestPauseMs = 0;
    return longest;
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    for await (const bytes of stream) {
      const text = new TextDecoder().decode(bytes);
      this.answers += text.split("answer").length - 1;
      this.isClosed ||= text.includes("closed");
      this.#longestPauseMs = Math.max(this.#longestPauseMs, this.silentMs);
      this.#answeredAtMs = performance.now();
    }
  }
}
