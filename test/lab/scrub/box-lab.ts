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

export interface BoxLab {
  readonly attacker: Namespace;
  readonly client: Namespace;
  readonly box: Namespace;
  readonly victim: Namespace;
  readonly service: ServiceProcess;
  readonly bans: () => Promise<BoxBan[]>;
}

/**
 * @param scrub the section, as YAML in flow style. @param seesAnswers what the victim sends is filtered, too.
 * @param more sections of the configuration.
 */
export async function makeBoxLab(
  undo: Undo,
  {
    scrub,
    seesAnswers = false,
    more = "",
  }: { readonly scrub: string; readonly seesAnswers?: boolean; readonly more?: string },
): Promise<BoxLab> {
  const directory = undo.folder("scrub-here");
  const pins = new BpfDirectory();
  undo.add(() => pins.close());
  const namespaces = new Namespaces();
  undo.add(() => namespaces.close());
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
  const port = await freePort();
  const relay = await Relay.open(box, port, directory);
  undo.add(() => relay.close());
  const config = `
dry_run: false
networks: [203.0.113.0/24]
capture:
  interfaces:
    - { name: in0, mode: inline }
    - { name: in1, mode: inline }
dataplane: { interfaces: [in0, in1${seesAnswers ? ", out0" : ""}], pin_path: ${pins.path}, on_exit: detach }
thresholds: { pps: ${THRESHOLD_PPS}, mbps: 1000, flows_per_sec: 50000 }
ban: { ttl_seconds: 60, unban_hysteresis_seconds: 1, repeat_window_seconds: 0 }
mitigation: scrub
scrub: ${scrub}
${more}`;
  const service = await ServiceProcess.start({ config, netns: box.name, port, directory });
  undo.add(() => service.remove());
  const bans = async () => (await service.get<{ bans: BoxBan[] }>("/api/v1/bans")).body.bans;
  return { attacker, client, box, victim, service, bans };
}

/** What the victim's stack has received. */
export function received(victim: Namespace): number {
  return Number(victim.run(["cat", "/sys/class/net/net0/statistics/rx_packets"]));
}

/** A TCP server that sends back what it gets; resolves when it is up. Ends with its namespace. */
export async function echo(victim: Namespace, port: number, hostname = VICTIM): Promise<void> {
  const socket = "{ data(peer, bytes) { peer.write(bytes); } }";
  const program = `Bun.listen({ hostname: "${hostname}", port: ${port}, socket: ${socket} }); console.log("up");`;
  const server = Bun.spawn(victim.command([process.execPath, "-e", program]), { stdin: "ignore", stdout: "pipe" });
  for await (const _ of server.stdout) return;
  throw new Error("the echo server did not start");
}

/** One connection that sends a line every tenth of a second; `answers` is how many came back, `isClosed` its end. */
export class LongConnection {
  answers = 0;
  isClosed = false;

  constructor(client: Namespace, port: number, undo: Undo) {
    const socket = `{ data() { console.log("answer"); }, close() { console.log("closed"); process.exit(); } }`;
    const program = `const peer = await Bun.connect({ hostname: "${VICTIM}", port: ${port}, socket: ${socket} });
      setInterval(() => peer.write("line"), 100);`;
    const command = client.command([process.execPath, "-e", program]);
    const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
    undo.add(() => child.kill());
    void this.#read(child.stdout);
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    for await (const bytes of stream) {
      const text = new TextDecoder().decode(bytes);
      this.answers += text.split("answer").length - 1;
      this.isClosed ||= text.includes("closed");
    }
  }
}
