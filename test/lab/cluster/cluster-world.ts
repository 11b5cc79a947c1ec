/**
 * The lab of a cluster: two whole brains, three routers that record what they have and export flow records, three members
 * of etcd, two scrub nodes, a receiver of notifications.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findGobgpd } from "../../../src/bgp/speaker/gobgpd-process.ts";
import { type PinnedFilter, readPinnedStatus } from "../../../src/dataplane/kernel-filter.ts";
import { type Bird, type BirdOptions, startBird } from "../../fixtures/bgp/bird.ts";
import { Authority } from "../../fixtures/cluster/authority.ts";
import { OffsetClock } from "../../fixtures/cluster/offset-clock.ts";
import { BpfDirectory } from "../../fixtures/dataplane/bpf-directory.ts";
import { makeCertificates } from "../../fixtures/etcd/etcd-certificates.ts";
import { EtcdMember, type EtcdMembers, type EtcdPlace } from "../../fixtures/etcd/etcd-cluster.ts";
import { FLOODWALL } from "../../fixtures/program.ts";
import { type Answer, eventually, OutputProcess, ServiceProcess } from "../../fixtures/service.ts";
import { Undo } from "../../fixtures/undo.ts";
import type { Namespace } from "../namespaces.ts";
import { Relay } from "../relay.ts";
import {
  API,
  ASN,
  BGP_PORT,
  brainConfig,
  FLOW_PORT,
  NODES,
  type NodeName,
  nodeConfig,
  SECRETS,
} from "./cluster-config.ts";
import { type BrainPlace, ClusterNetwork, type HubPlace } from "./cluster-network.ts";
import { RouteLog } from "./route-log.ts";

const WEBHOOK_PORT = 8999;
const YESTERDAY_SECONDS = -86_400;

/** Which service a brain runs. */
export interface Version {
  /** Path of its program; absent: of this tree. */
  readonly main?: string;
  readonly hasCluster: boolean;
}

const THIS_TREE: Version = { hasCluster: true };

export interface Brain {
  readonly place: BrainPlace;
  readonly port: number;
  readonly clock: OffsetClock;
  /** Its own router. */
  readonly edge: Router;
  service: ServiceProcess;
}

export interface Router {
  readonly log: RouteLog;
  readonly options: BirdOptions;
  bird: Bird;
}

export interface ScrubNode {
  readonly name: NodeName;
  readonly place: HubPlace;
  readonly pins: BpfDirectory;
  agent: OutputProcess;
}

export class ClusterWorld {
  readonly undo = new Undo();
  readonly network = new ClusterNetwork();
  readonly directory = this.undo.folder("cluster-lab");
  readonly authority: Authority;
  readonly etcd: readonly EtcdMember[];
  readonly #endpoints: readonly URL[];
  readonly #tls: ReturnType<typeof makeCertificates>;
  webhook!: OutputProcess;
  router!: Router;
  brains: Brain[] = [];
  nodes: ScrubNode[] = [];

  constructor() {
    this.undo.add(() => this.network.close());
    const { brains, third } = this.network;
    const [one, two] = brains as [BrainPlace, BrainPlace];
    const machines = [one, two, third];
    // A brain whose clock is behind would refuse certificates of today.
    const yesterday = new OffsetClock(this.directory, "yesterday");
    yesterday.set(YESTERDAY_SECONDS);
    Object.assign(process.env, yesterday.env);
    this.authority = new Authority();
    this.undo.add(() => this.authority.remove());
    for (const { name } of brains) this.authority.issue(name);
    const addresses = machines.map(({ address }) => address);
    this.#tls = makeCertificates(this.directory, addresses);
    for (const name of Object.keys(yesterday.env)) delete process.env[name];
    const places = machines.map(({ namespace, address }, i) => placeOf(`m${i + 1}`, namespace, address));
    const members: EtcdMembers = { places, directory: this.directory, tls: this.#tls };
    this.etcd = places.map((place) => new EtcdMember(place, members));
    this.#endpoints = places.map(({ client }) => client);
    this.undo.add(() => Promise.all(this.etcd.map((member) => member.kill())));
  }

  /** Resolves when all sessions are up and, where there is a cluster, the brains see each other and one of them notifies. */
  async start(ports: readonly [number, number], version = THIS_TREE): Promise<void> {
    await this.startEtcd();
    const { third, router, routerAddress, edges, brains } = this.network;
    const script = join(import.meta.dir, "webhook.ts");
    const receiver = [process.execPath, script, third.address, String(WEBHOOK_PORT)];
    this.webhook = new OutputProcess(third.namespace.command(receiver));
    this.undo.add(() => this.webhook.remove());
    await this.webhook.says("ready");
    const session = (name: string, address: string) => ({ name, address, asn: ASN, port: BGP_PORT });
    const sessions = [session("brain1", "198.51.111.1"), session("brain2", "198.51.112.1")];
    this.router = await this.#bird(router, { address: routerAddress, sessions });
    await this.#export(router, ["198.51.111.1", "198.51.112.1"]);
    for (const [i, place] of brains.entries()) {
      const edge = edges[i] as Namespace;
      const own = await this.#bird(edge, { address: place.edge, sessions: [session("brain", place.edgeNear)] });
      await this.#export(edge, [place.edgeNear]);
      const port = ports[i] as number;
      const directory = join(this.directory, place.name);
      mkdirSync(directory);
      const relay = await Relay.open(place.namespace, port, directory);
      this.undo.add(() => relay.close());
      const clock = new OffsetClock(this.directory, `${place.name}-clock`);
      const service = await this.#serve({ place, port, clock }, version);
      this.brains.push({ place, port, clock, edge: own, service });
    }
    for (const [i, name] of NODES.entries()) await this.#node(name, this.network.nodes[i] as HubPlace);
    const outputs = () => this.brains.map(({ service }) => service.output).join("\n");
    await eventually(
      () => this.#areUp(),
      () => `not all sessions come up:\n${outputs()}`,
      30_000,
      100,
    );
    if (!version.hasCluster) return;
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
      this.router.bird.isEstablished("brain1"),
      this.router.bird.isEstablished("brain2"),
      ...this.brains.map(({ edge }) => edge.bird.isEstablished("brain")),
    ];
    return (await Promise.all(sessions)).every(Boolean);
  }

  /** All sessions are up, the brains see each other and all nodes, and one of them sends notifications. */
  async areLinked(): Promise<boolean> {
    if (!(await this.#areUp())) return false;
    const views = await Promise.all(this.brains.map((brain) => this.get<View>(brain, "cluster").catch(() => null)));
    const areUp = views.every((view) => view?.brains.every(({ state }) => state === "up") === true);
    const inventories = await Promise.all(
      this.brains.map((brain) => this.get<Inventory>(brain, "dataplane/nodes").catch(() => null)),
    );
    const areAlive = inventories.every((each) => each?.nodes.every(({ alive }) => alive) === true);
    return areUp && areAlive && views.filter((view) => view?.leading === true).length === 1;
  }

  /** @param path below /api/v1 */
  async get<T>({ service }: Brain, path: string): Promise<T> {
    const { status, body } = await service.get<T>(`/api/v1/${path}`, SECRETS.OPERATOR);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  post<T>({ service }: Brain, path: string, body: object): Promise<Answer<T>> {
    return service.post<T>(`/api/v1/${path}`, body, SECRETS.OPERATOR);
  }

  /** Prefixes. @param manual only those by hand */
  async bansInForce(brain: Brain, { manual = false } = {}): Promise<ReadonlySet<string>> {
    const { bans } = await this.get<{ bans: ListedBan[] }>(brain, "bans");
    const inForce = bans.filter((ban) => ban.state === "active" && (ban.manual || !manual));
    return new Set(inForce.map(({ prefix }) => prefix));
  }

  async startEtcd(): Promise<void> {
    for (const member of this.etcd) member.start();
    const { namespace } = this.network.third;
    const endpoints = this.#endpoints.map(({ origin }) => origin).join(",");
    const { authority, client } = this.#tls;
    const files = ["--cacert", authority, "--cert", client.cert, "--key", client.key];
    const command = namespace.command(["etcdctl", "--endpoints", endpoints, ...files, "endpoint", "health"]);
    const isHealthy = async () => (await Bun.spawn(command, { stdout: "ignore", stderr: "ignore" }).exited) === 0;
    await eventually(isHealthy, "etcd is not healthy", 30_000, 200);
  }

  /** SIGKILL of the service alone: its speaker stays. */
  async kill(brain: Brain): Promise<void> {
    await brain.service.stop("SIGKILL");
  }

  async revive(brain: Brain, version = THIS_TREE): Promise<void> {
    brain.service = await this.#serve(brain, version);
  }

  killSpeaker({ service }: Brain): void {
    const pid = findGobgpd(join(service.directory, "state/gobgpd/run"));
    if (pid === null) throw new Error(`${service.directory} has no speaker`);
    process.kill(pid, "SIGKILL");
  }

  /** It ends as a router without power does. */
  async stopRouter(router: Router): Promise<void> {
    await router.bird.stop();
    router.log.stopped();
  }

  async startRouter(router: Router): Promise<void> {
    router.bird = await startBird(router.options);
    this.undo.add(() => router.bird.stop());
  }

  async startAgent(node: ScrubNode): Promise<void> {
    node.agent = await this.#agent(node);
  }

  /** What is in the kernel of the node, whether its agent runs or not. */
  filterOf({ pins }: ScrubNode): PinnedFilter {
    return readPinnedStatus(pins.path);
  }

  async close(): Promise<void> {
    for (const { service } of this.brains) await service.stop("SIGTERM").catch(() => null);
    await this.undo.all();
  }

  async #bird(namespace: Namespace, options: Pick<BirdOptions, "address" | "sessions">): Promise<Router> {
    const log = join(this.directory, `${namespace.name}.log`);
    writeFileSync(log, "");
    const whole = { ...options, log, netns: namespace.name, port: BGP_PORT, asn: ASN };
    const router: Router = { log: new RouteLog(log), options: whole, bird: await startBird(whole) };
    this.undo.add(() => router.bird.stop());
    return router;
  }

  /** Records of what comes in by the router's wire, to each of the collectors. */
  async #export(namespace: Namespace, collectors: readonly string[]): Promise<void> {
    const folder = this.undo.folder("softflowd");
    const to = collectors.map((address) => `${address}:${FLOW_PORT}`).join(",");
    const files = ["-p", join(folder, "pid"), "-c", join(folder, "control")];
    const often = ["-t", "expint=1", "-t", "maxlife=1", "-v", "9", "-n", to];
    const exporter = new OutputProcess(namespace.command(["softflowd", "-d", "-i", "wire0", ...files, ...often]));
    this.undo.add(() => exporter.remove());
    await exporter.says("softflowd v");
  }

  async #node(name: NodeName, place: HubPlace): Promise<void> {
    const pins = new BpfDirectory();
    this.undo.add(() => pins.close());
    const node = { name, place, pins };
    this.nodes.push({ ...node, agent: await this.#agent(node) });
  }

  async #agent({ name, place, pins }: Omit<ScrubNode, "agent">): Promise<OutputProcess> {
    const config = join(this.directory, `${name}.yaml`);
    const brains = this.brains.map((brain) => `http://${brain.place.address}:${brain.port}`);
    writeFileSync(config, nodeConfig({ name, brains, pins: pins.path, directory: join(this.directory, name) }));
    const command = place.namespace.command([...FLOODWALL, "scrub", "--config", config]);
    const agent = new OutputProcess(command, SECRETS);
    this.undo.add(() => agent.remove());
    await agent.says("floodwall scrub is up");
    return agent;
  }

  async #serve({ place, port, clock }: Omit<Brain, "service" | "edge">, version: Version): Promise<ServiceProcess> {
    const { main, hasCluster } = version;
    const webhook = `http://${this.network.third.address}:${WEBHOOK_PORT}/`;
    const other = this.network.brains.find(({ name }) => name !== place.name) as BrainPlace;
    const config = brainConfig({
      ...{ own: place, other, files: this.authority.files(place.name) },
      etcd: { endpoints: this.#endpoints, tls: this.#tls },
      isAlone: !hasCluster,
    });
    const service = await ServiceProcess.start({
      ...(main === undefined ? {} : { main }),
      ...{ config, api: API, listenHost: "0.0.0.0", netns: place.namespace.name, port },
      ...{ directory: join(this.directory, place.name), env: { ...SECRETS, WEBHOOK: webhook, ...clock.env } },
    });
    this.undo.add(() => service.remove());
    return service;
  }
}

interface ListedBan {
  readonly prefix: string;
  readonly state: string;
  readonly manual: boolean;
}

interface View {
  readonly brains: readonly { readonly state: string }[];
  readonly leading: boolean;
}

interface Inventory {
  readonly nodes: readonly { readonly alive: boolean }[];
}

function placeOf(name: string, namespace: Namespace, address: string): EtcdPlace {
  const url = (port: number, scheme: string) => new URL(`${scheme}://${address}:${port}`);
  return { name, client: url(2379, "https"), peer: url(2380, "http"), command: (argv) => namespace.command(argv) };
}
