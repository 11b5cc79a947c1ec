/**
 * The machines of the lab, each a network namespace: two brains, a third member of etcd and two scrub nodes around a hub,
 * which stands for the network between them and where all of it is cut or slowed down; routers with links of their own;
 * wires of the attacker, each watched by a mirror port or by a router that exports flow records.
 */
import { type Namespace, Namespaces } from "../namespaces.ts";
import { SlowPath } from "./slow-path.ts";

/** On the hub, at 10.70.NUMBER.2. */
export interface HubPlace {
  readonly namespace: Namespace;
  readonly address: string;
  /** The device of the hub that leads there. */
  readonly port: string;
}

export interface BrainPlace extends HubPlace {
  readonly name: string;
  /** Of the router of both, for its sessions, and on the link with it. */
  readonly router: string;
  readonly coreFar: string;
  /** Of the router of this brain alone, and the brain's on the link with it. */
  readonly edge: string;
  readonly edgeNear: string;
}

/** `to`: nothing reaches the place; `from`: nothing of it gets out. */
export type Direction = "to" | "from" | "both";

const CUT = "inet cut";
const SLOW_TABLE = "100";

export class ClusterNetwork {
  readonly namespaces = new Namespaces();
  readonly attacker = this.namespaces.add("attacker");
  readonly hub = this.namespaces.add("hub");
  readonly router = this.namespaces.add("router");
  readonly edges = [this.namespaces.add("edge1"), this.namespaces.add("edge2")] as const;
  readonly brains: readonly BrainPlace[];
  readonly third: HubPlace;
  readonly nodes: readonly HubPlace[];
  /** One for the sessions of both brains. */
  readonly routerAddress = "198.51.100.2";

  constructor() {
    this.hub.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"]);
    this.router.run(["ip", "address", "add", `${this.routerAddress}/32`, "dev", "lo"]);
    this.brains = [1, 2].map((i) => this.#brain(i));
    this.third = this.#onHub("third", 3);
    this.nodes = [4, 5].map((i) => this.#onHub(`scrub${i - 3}`, i));
    for (const [i, { namespace }] of this.nodes.entries()) {
      this.#wire(`scrub${i + 1}`, namespace, "dirty0");
    }
    for (const [i, namespace] of [this.router, ...this.edges].entries()) this.#wire(`flow${i}`, namespace, "wire0");
    this.hub.run(["nft", `add table ${CUT}; add chain ${CUT} way { type filter hook forward priority 0; }`]);
  }

  #onHub(name: string, i: number): HubPlace {
    const namespace = this.namespaces.add(name);
    const [address, port] = [`10.70.${i}.2`, `lan${i}`];
    this.namespaces.connect(
      { namespace, device: "lan0", addresses: [`${address}/24`] },
      { namespace: this.hub, device: port, addresses: [`10.70.${i}.1/24`] },
    );
    namespace.run(["ip", "route", "add", "default", "via", `10.70.${i}.1`]);
    return { namespace, address, port };
  }

  #brain(i: number): BrainPlace {
    const place = this.#onHub(`brain${i}`, i);
    const { namespace } = place;
    const end = (device: string, address: string) => ({ namespace, device, addresses: [address] });
    const far = (of: Namespace, device: string, address: string) => ({ namespace: of, device, addresses: [address] });
    this.#wire(`wire${i}`, namespace, "mirror0");
    this.namespaces.connect(end("core0", `198.51.11${i}.1/24`), far(this.router, `brain${i}`, `198.51.11${i}.2/24`));
    const edge = this.edges[i - 1] as Namespace;
    this.namespaces.connect(end("edge0", `198.51.12${i}.1/24`), far(edge, "brain0", `198.51.12${i}.2/24`));
    this.#routeToRouter(namespace, i);
    return {
      ...{ ...place, name: `brain${i}`, router: this.routerAddress, coreFar: `198.51.11${i}.2` },
      ...{ edge: `198.51.12${i}.2`, edgeNear: `198.51.12${i}.1` },
    };
  }

  #routeToRouter(brain: Namespace, i: number): void {
    brain.run(["ip", "route", "replace", `${this.routerAddress}/32`, "via", `198.51.11${i}.2`]);
  }

  #wire(device: string, namespace: Namespace, far: string): void {
    this.namespaces.connect({ namespace: this.attacker, device }, { namespace, device: far });
  }

  /** All between the place and the hub, until heal(). */
  cut({ port }: HubPlace, direction: Direction = "both"): void {
    if (direction !== "from") this.#drop(`oifname "${port}"`);
    if (direction !== "to") this.#drop(`iifname "${port}"`);
  }

  /** All that goes from one place to another one, and unless `isOneWay` back, until heal(). */
  cutBetween(from: HubPlace, to: HubPlace, { isOneWay = false } = {}): void {
    this.#drop(`iifname "${from.port}" oifname "${to.port}"`);
    if (!isOneWay) this.#drop(`iifname "${to.port}" oifname "${from.port}"`);
  }

  heal(): void {
    this.hub.run(["nft", `flush chain ${CUT} way`]);
  }

  /** What leaves the place, and unless `isOneWay` what goes there, takes so much longer until the path is closed. */
  async slow({ port, address }: HubPlace, ms: number, { isOneWay = false } = {}): Promise<SlowPath> {
    const path = await SlowPath.open(this.hub, ms);
    const slow = ["lookup", SLOW_TABLE];
    const rules = [
      ["pref", "100", "iif", path.device, "lookup", "main"],
      ["pref", "101", "iif", port, ...slow],
      ...(isOneWay ? [] : [["pref", "102", "to", address, ...slow]]),
    ];
    this.hub.run(["ip", "route", "replace", "default", "dev", path.device, "table", SLOW_TABLE]);
    for (const rule of rules) this.hub.run(["ip", "rule", "add", ...rule]);
    path.onClose(() => {
      for (const rule of rules) this.hub.run(["ip", "rule", "delete", ...rule]);
    });
    return path;
  }

  /** The link of a brain to the router of both. */
  setRouterLink({ namespace, name }: BrainPlace, state: "up" | "down"): void {
    namespace.run(["ip", "link", "set", "core0", state]);
    if (state === "up") this.#routeToRouter(namespace, Number(name.slice(-1)));
  }

  #drop(match: string): void {
    this.hub.run(["nft", `add rule ${CUT} way ${match} drop`]);
  }

  close(): void {
    this.namespaces.close();
  }
}
