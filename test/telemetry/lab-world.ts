/**
 * A router that exports what it forwards, and a box with two services: one knows the traffic by flow records alone and
 * announces routes to BIRD on the router, the other counts a mirror of the same link and announces nothing.
 */
import { type Bird, startBird } from "../fixtures/bgp/bird.ts";
import { freePort, ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { type Namespace, Namespaces } from "../lab/namespaces.ts";
import { Relay } from "../lab/relay.ts";
import { type Sent, sendFrom, sessionUp, type TrafficOptions } from "../lab/world.ts";

export const THRESHOLD_PPS = 5000;
export const FLOW_PORT = 2055;
const ASN = 64500;
const BGP_PORT = 1790;
const NETWORK = "203.0.113.0/24";
const [ROUTER, BOX] = ["198.51.100.2", "198.51.100.1"];
const LIMITS = `thresholds: { pps: ${THRESHOLD_PPS}, mbps: 10000, flows_per_sec: 1000000 }
ban: { ttl_seconds: 60, unban_hysteresis_seconds: 3, repeat_window_seconds: 0 }
networks: [${NETWORK}]
`;

export class LabWorld {
  private constructor(
    readonly bird: Bird,
    /** Knows flow records alone. */
    readonly flows: ServiceProcess,
    /** Counts the mirror; null: without one. */
    readonly mirror: ServiceProcess | null,
    readonly router: Namespace,
    readonly box: Namespace,
    readonly undo: Undo,
    readonly send: (traffic: Omit<TrafficOptions, "dev">) => Promise<Sent>,
  ) {}

  /** What was made is gone again when it rejects. */
  static async create({ hasMirror }: { readonly hasMirror: boolean }): Promise<LabWorld> {
    const undo = new Undo();
    try {
      return await LabWorld.#build(hasMirror, undo);
    } catch (cause) {
      await undo.all();
      throw cause;
    }
  }

  static async #build(hasMirror: boolean, undo: Undo): Promise<LabWorld> {
    const namespaces = new Namespaces();
    undo.add(() => namespaces.close());
    const [attacker, router, victim, box] = ["attacker", "router", "victim", "box"].map((name) =>
      namespaces.add(name),
    ) as [...[Namespace, Namespace, Namespace, Namespace]];
    const end = (namespace: Namespace, device: string, ...addresses: string[]) => ({ namespace, device, addresses });
    namespaces.connect(end(attacker, "wire0"), end(router, "up0", "192.0.2.1/24"));
    namespaces.connect(end(router, "down0", "203.0.113.1/24"), end(victim, "net0", "203.0.113.9/24"));
    namespaces.connect(end(router, "span0"), end(box, "mirror0"));
    namespaces.connect(end(box, "bgp0", `${BOX}/24`), end(router, "box0", `${ROUTER}/24`));
    router.run(["sh", "-ec", "echo 1 > /proc/sys/net/ipv4/ip_forward"]);
    const session = { name: "floodwall", address: BOX, asn: ASN, port: BGP_PORT };
    const bird = await startBird({
      address: ROUTER,
      port: BGP_PORT,
      asn: ASN,
      netns: router.name,
      sessions: [session],
    });
    undo.add(() => bird.stop());
    const flows = await service(box, flowConfig(), undo);
    const mirror = hasMirror ? await service(box, mirrorConfig(), undo) : null;
    await sessionUp(bird, flows);
    return new LabWorld(bird, flows, mirror, router, box, undo, (traffic) => sendFrom(attacker, traffic));
  }

  /** As a switch's mirror port: all that comes in by the uplink goes there too. Open vSwitch removes it when it starts. */
  mirrorUplink(): void {
    const everything = ["protocol", "all", "u32", "match", "u32", "0", "0"];
    const copy = ["action", "mirred", "egress", "mirror", "dev", "span0"];
    this.router.run(["tc", "qdisc", "add", "dev", "up0", "ingress"]);
    this.router.run(["tc", "filter", "add", "dev", "up0", "ingress", ...everything, ...copy]);
  }

  close(): Promise<void> {
    return this.undo.all();
  }
}

/** In the box, with an API that answers on the host too. */
async function service(box: Namespace, config: string, undo: Undo): Promise<ServiceProcess> {
  const [port, directory] = [await freePort(), undo.folder("lab")];
  const relay = await Relay.open(box, port, directory);
  undo.add(() => relay.close());
  const started = await ServiceProcess.start({ config, netns: box.name, port, directory });
  undo.add(() => started.remove());
  return started;
}

function flowConfig(): string {
  return `${LIMITS}
dry_run: false
telemetry:
  listen: [{ address: "::", port: ${FLOW_PORT} }]
  exporters: [{ address: ${ROUTER}, name: router }, { address: 127.0.0.0/8, name: local }]
bgp:
  local_asn: ${ASN}
  router_id: ${BOX}
  listen: "${BOX}:${BGP_PORT}"
  next_hop: 192.0.2.9
  communities: ["65535:666"]
  neighbors: [{ address: ${ROUTER}, remote_asn: ${ASN}, port: ${BGP_PORT} }]
`;
}

function mirrorConfig(): string {
  return `${LIMITS}
dry_run: true
capture: { interfaces: [{ name: mirror0, mode: mirror }] }
`;
}
