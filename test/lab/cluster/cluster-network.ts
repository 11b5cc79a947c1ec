/**
 * Two brains, each with a link to a router of both, to a router of its own, to the wire of a mirror, and to a hub that
 * stands for the network between the machines; all in network namespaces of their own.
 */
import { type Namespace, Namespaces } from "../namespaces.ts";

export interface BrainPlace {
  readonly name: string;
  readonly namespace: Namespace;
  /** On the hub. */
  readonly address: string;
  /** Of the router of both, and of its own one, and the brain's on the link with it. */
  readonly router: string;
  readonly edge: string;
  readonly edgeNear: string;
}

export class ClusterNetwork {
  readonly namespaces = new Namespaces();
  readonly attacker = this.namespaces.add("attacker");
  readonly hub = this.namespaces.add("hub");
  readonly router = this.namespaces.add("router");
  readonly edges = [this.namespaces.add("edge1"), this.namespaces.add("edge2")] as const;
  readonly brains: readonly BrainPlace[];
  /** Of the hub, reached from both brains. */
  readonly hubAddress = "10.70.9.9";
  /** One for the sessions of both brains. */
  readonly routerAddress = "198.51.100.2";

  constructor() {
    this.hub.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"]);
    this.hub.run(["ip", "address", "add", `${this.hubAddress}/32`, "dev", "lo"]);
    this.router.run(["ip", "address", "add", `${this.routerAddress}/32`, "dev", "lo"]);
    this.brains = [1, 2].map((i) => this.#brain(i));
  }

  #brain(i: number): BrainPlace {
    const namespace = this.namespaces.add(`brain${i}`);
    const end = (device: string, address: string) => ({ namespace, device, addresses: [address] });
    const far = (of: Namespace, device: string, address: string) => ({ namespace: of, device, addresses: [address] });
    this.namespaces.connect({ namespace: this.attacker, device: `wire${i}` }, { namespace, device: "mirror0" });
    this.namespaces.connect(end("lan0", `10.70.${i}.2/24`), far(this.hub, `lan${i}`, `10.70.${i}.1/24`));
    this.namespaces.connect(end("core0", `198.51.11${i}.1/24`), far(this.router, `brain${i}`, `198.51.11${i}.2/24`));
    const edge = this.edges[i - 1] as Namespace;
    this.namespaces.connect(end("edge0", `198.51.12${i}.1/24`), far(edge, "brain0", `198.51.12${i}.2/24`));
    namespace.run(["ip", "route", "add", "default", "via", `10.70.${i}.1`]);
    namespace.run(["ip", "route", "add", `${this.routerAddress}/32`, "via", `198.51.11${i}.2`]);
    return {
      ...{ name: `brain${i}`, namespace, address: `10.70.${i}.2`, router: this.routerAddress },
      ...{ edge: `198.51.12${i}.2`, edgeNear: `198.51.12${i}.1` },
    };
  }

  /** Nothing of the hub reaches the brain, and unless `isOneWay` nothing of the brain the hub: sessions to routers stay. */
  partition({ namespace }: BrainPlace, isOneWay: boolean): void {
    const rules = ["add table inet cut", "add chain inet cut in { type filter hook input priority 0; }"];
    rules.push('add rule inet cut in iifname "lan0" drop');
    if (!isOneWay) {
      rules.push(
        "add chain inet cut out { type filter hook output priority 0; }",
        'add rule inet cut out oifname "lan0" drop',
      );
    }
    namespace.run(["nft", rules.join("; ")]);
  }

  heal({ namespace }: BrainPlace): void {
    namespace.run(["nft", "delete table inet cut"]);
  }

  close(): void {
    this.namespaces.close();
  }
}
