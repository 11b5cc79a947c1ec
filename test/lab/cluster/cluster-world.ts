/** The lab of a cluster: two whole brains, three routers, three members of etcd, a receiver of notifications. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Bird, startBird } from "../../fixtures/bgp/bird.ts";
import { Authority } from "../../fixtures/cluster/authority.ts";
import { makeCertificates } from "../../fixtures/etcd/etcd-certificates.ts";
import { EtcdMember, type EtcdMembers, type EtcdPlace } from "../../fixtures/etcd/etcd-cluster.ts";
import { eventually, OutputProcess, ServiceProcess } from "../../fixtures/service.ts";
import { Undo } from "../../fixtures/undo.ts";
import type { Namespace } from "../namespaces.ts";
import { Relay } from "../relay.ts";
import { type BrainPlace, ClusterNetwork } from "./cluster-network.ts";

const ASN = 64500;
const BGP_PORT = 1790;
const WEBHOOK_PORT = 8999;
export const THRESHOLD_PPS = 2000;
/** Seen by both brains, and by one alone. */
export const VICTIMS = { both: "203.0.113.7", first: "203.0.113.17", second: "203.0.113.27" } as const;

export interface Brain {
  readonly place: BrainPlace;
  readonly port: number;
  readonly edge: Bird;
  service: ServiceProcess;
}

export class ClusterWorld {
  readonly undo = new Undo();
  readonly network = new ClusterNetwork();
  readonly directory = this.undo.folder("cluster-lab");
  readonly authority = new Authority();
  readonly etcd: readonly EtcdMember[];
  readonly #endpoints: readonly URL[];
  readonly #tls = makeCertificates(this.directory, ["10.70.1.2", "10.70.2.2", this.network.hubAddress]);
  webhook!: OutputProcess;
  router!: Bird;
  brains: Brain[] = [];

  constructor() {
    this.undo.add(() => this.authority.remove());
    this.undo.add(() => this.network.close());
    const [one, two] = this.network.brains as [BrainPlace, BrainPlace];
    const places = [
      placeOf("m1", one.namespace, one.address),
      placeOf("m2", two.namespace, two.address),
      placeOf("m3", this.network.hub, this.network.hubAddress),
    ];
    const members: EtcdMembers = { places, directory: this.directory, tls: this.#tls };
    this.etcd = places.map((place) => new EtcdMember(place, members));
    this.#endpoints = places.map(({ client }) => client);
    this.undo.add(() => Promise.all(this.etcd.map((member) => member.kill())));
  }

  async start(ports: readonly [number, number]): Promise<void> {
    await this.startEtcd();
    const { hub, hubAddress, router, routerAddress, edges, brains } = this.network;
    const script = join(import.meta.dir, "webhook.ts");
    this.webhook = new OutputProcess(hub.command([process.execPath, script, hubAddress, String(WEBHOOK_PORT)]));
    this.undo.add(() => this.webhook.remove());
    await this.webhook.says("ready");
    const session = (name: string, address: string) => ({ name, address, asn: ASN, port: BGP_PORT });
    const sessions = [session("brain1", "198.51.111.1"), session("brain2", "198.51.112.1")];
    this.router = await this.#bird({ address: routerAddress, netns: router.name, sessions });
    for (const [i, place] of brains.entries()) {
      const edge = edges[i] as Namespace;
      const own = await this.#bird({
        address: place.edge,
        netns: edge.name,
        sessions: [session("brain", place.edgeNear)],
      });
      this.authority.issue(place.name);
      const port = ports[i] as number;
      const directory = join(this.directory, place.name);
      mkdirSync(directory);
      const relay = await Relay.open(place.namespace, port, directory);
      this.undo.add(() => relay.close());
      this.brains.push({ place, port, edge: own, service: await this.#serve(place, port) });
    }
    const outputs = () => this.brains.map(({ service }) => service.output).join("\n");
    await eventually(
      () => this.#areUp(),
      () => `not all sessions come up:\n${outputs()}`,
      30_000,
      100,
    );
    // A new etcd gives no lease before one of lost data would be over.
    await eventually(
      () => this.areLinked(),
      () => `the brains do not find each other:\n${outputs()}`,
      60_000,
      200,
    );
  }

  async #areUp(): Promise<boolean> {
    const sessions = [
      this.router.isEstablished("brain1"),
      this.router.isEstablished("brain2"),
      ...this.brains.map(({ edge }) => edge.isEstablished("brain")),
    ];
    return (await Promise.all(sessions)).every(Boolean);
  }

  /** The brains see each other, and one of them sends notifications. */
  async areLinked(): Promise<boolean> {
    const views = await Promise.all(this.brains.map(({ service }) => service.get("/api/v1/cluster").catch(() => null)));
    const bodies = views.map((view) => view?.body as { brains?: { state: string }[]; leading?: boolean } | undefined);
    const areUp = bodies.every((body) => body?.brains?.every(({ state }) => state === "up") === true);
    return areUp && bodies.filter((body) => body?.leading === true).length === 1;
  }

  async startEtcd(): Promise<void> {
    for (const member of this.etcd) member.start();
    const { tls, hub } = { tls: this.#tls, hub: this.network.hub };
    const endpoints = this.#endpoints.map(({ origin }) => origin).join(",");
    const files = ["--cacert", tls.authority, "--cert", tls.client.cert, "--key", tls.client.key];
    const command = hub.command(["etcdctl", "--endpoints", endpoints, ...files, "endpoint", "health"]);
    const isHealthy = async () => (await Bun.spawn(command, { stdout: "ignore", stderr: "ignore" }).exited) === 0;
    await eventually(isHealthy, "etcd is not healthy", 30_000, 200);
  }

  /** SIGKILL of the service alone: its speaker stays. */
  async kill(brain: Brain): Promise<void> {
    await brain.service.stop("SIGKILL");
  }

  async revive(brain: Brain): Promise<void> {
    brain.service = await this.#serve(brain.place, brain.port);
  }

  async close(): Promise<void> {
    for (const { service } of this.brains) await service.stop("SIGTERM").catch(() => null);
    await this.undo.all();
  }

  async #bird(options: Omit<Parameters<typeof startBird>[0], "port" | "asn">): Promise<Bird> {
    const bird = await startBird({ ...options, port: BGP_PORT, asn: ASN });
    this.undo.add(() => bird.stop());
    return bird;
  }

  async #serve(place: BrainPlace, port: number): Promise<ServiceProcess> {
    const env = { WEBHOOK: `http://${this.network.hubAddress}:${WEBHOOK_PORT}/` };
    const directory = join(this.directory, place.name);
    const service = await ServiceProcess.start({
      ...{ config: this.#config(place), netns: place.namespace.name, port, directory, env },
    });
    this.undo.add(() => service.remove());
    return service;
  }

  #config({ name, address, router, edge }: BrainPlace): string {
    const other = this.network.brains.find((place) => place.name !== name) as BrainPlace;
    const { certificate, key, authority } = this.authority.files(name);
    const endpoints = this.#endpoints.map(({ origin }) => `"${origin}"`).join(", ");
    const { authority: ca, client } = this.#tls;
    return `
dry_run: false
networks: [203.0.113.0/24]
capture: { interfaces: [{ name: mirror0, mode: mirror }] }
thresholds: { pps: ${THRESHOLD_PPS}, mbps: 1000, flows_per_sec: 500000 }
ban: { ttl_seconds: 30, unban_hysteresis_seconds: 5, repeat_window_seconds: 0 }
notify: { webhook: { url_env: WEBHOOK } }
bgp:
  local_asn: ${ASN}
  router_id: ${address}
  listen: "0.0.0.0:${BGP_PORT}"
  next_hop: 192.0.2.1
  neighbors:
    - { address: ${router}, remote_asn: ${ASN}, port: ${BGP_PORT} }
    - { address: ${edge}, remote_asn: ${ASN}, port: ${BGP_PORT} }
cluster:
  name: ${name}
  listen: "${address}:8443"
  certificate: ${certificate}
  key: ${key}
  authority: ${authority}
  brains: [{ name: ${other.name}, address: "${other.address}:8443" }]
  etcd: { endpoints: [${endpoints}], authority: ${ca}, certificate: ${client.cert}, key: ${client.key} }
`;
  }
}

function placeOf(name: string, namespace: Namespace, address: string): EtcdPlace {
  const url = (port: number, scheme: string) => new URL(`${scheme}://${address}:${port}`);
  return { name, client: url(2379, "https"), peer: url(2380, "http"), command: (argv) => namespace.command(argv) };
}
