/**
 * All metrics of the service in one registry, in groups that are passed to components; each component declares the part
 * of a group that it needs as an interface. Names start with `svc_`, counters end in `_total`, and label values come
 * from closed sets.
 */
import { Gauge, Registry } from "prom-client";
import { ApiMetrics } from "./api-metrics.ts";
import { BaselineMetrics } from "./baseline-metrics.ts";
import { CaptureMetrics } from "./capture-metrics.ts";
import { ClusterMetrics } from "./cluster-metrics.ts";
import { DataplaneMetrics } from "./dataplane-metrics.ts";
import { DetectionMetrics } from "./detection-metrics.ts";
import { EdgeMetrics } from "./edge-metrics.ts";
import { EtcdMetrics } from "./etcd-metrics.ts";
import { EventMetrics } from "./event-metrics.ts";
import { exposition } from "./exposition.ts";
import { FileMetrics } from "./file-metrics.ts";
import { FilterRuleMetrics } from "./filter-rule-metrics.ts";
import { HoldMetrics } from "./hold-metrics.ts";
import { IncidentMetrics } from "./incident-metrics.ts";
import { MitigationMetrics } from "./mitigation-metrics.ts";
import { NotifyMetrics } from "./notify-metrics.ts";
import { PrefixSetMetrics } from "./prefix-set-metrics.ts";
import { collectProcessMetrics } from "./process-metrics.ts";
import { ProtectionMetrics } from "./protection-metrics.ts";
import { ScrubMetrics } from "./scrub-metrics.ts";
import { SignInMetrics } from "./sign-in-metrics.ts";
import { SourceBlockMetrics } from "./source-block-metrics.ts";
import { StorageMetrics } from "./storage-metrics.ts";
import { TelemetryMetrics } from "./telemetry-metrics.ts";

export class Metrics {
  readonly capture: CaptureMetrics;
  readonly detection: DetectionMetrics;
  readonly baselines: BaselineMetrics;
  readonly mitigation: MitigationMetrics;
  readonly api: ApiMetrics;
  readonly notify: NotifyMetrics;
  readonly holds: HoldMetrics;
  readonly events: EventMetrics;
  readonly storage: StorageMetrics;
  readonly sourceBlocks: SourceBlockMetrics;
  readonly protection: ProtectionMetrics;
  readonly incidents: IncidentMetrics;
  readonly scrub: ScrubMetrics;
  readonly edge: EdgeMetrics;
  readonly dataplane: DataplaneMetrics;
  readonly filterRules: FilterRuleMetrics;
  readonly prefixSets: PrefixSetMetrics;
  readonly files: FileMetrics;
  readonly telemetry: TelemetryMetrics;
  #cluster: ClusterMetrics | null = null;
  #etcd: EtcdMetrics | null = null;
  readonly signIn: SignInMetrics;
  readonly #registry = new Registry();
  readonly #readings: (() => void)[] = [];
  readonly #dryRun: Gauge;

  constructor(version: string) {
    const registers = [this.#registry];
    const build = new Gauge({ name: "svc_build_info", help: "The running build.", labelNames: ["version"], registers });
    build.set({ version }, 1);
    this.#dryRun = new Gauge({ name: "svc_dry_run", help: "1 in dry run: no route is announced.", registers });
    this.capture = new CaptureMetrics(this.#registry);
    this.detection = new DetectionMetrics(this.#registry);
    this.baselines = new BaselineMetrics(this.#registry);
    this.mitigation = new MitigationMetrics(this.#registry);
    this.api = new ApiMetrics(this.#registry);
    this.notify = new NotifyMetrics(this.#registry);
    this.holds = new HoldMetrics(this.#registry);
    this.events = new EventMetrics(this.#registry);
    this.storage = new StorageMetrics(this.#registry);
    this.sourceBlocks = new SourceBlockMetrics(this.#registry);
    this.protection = new ProtectionMetrics(this.#registry);
    this.incidents = new IncidentMetrics(this.#registry);
    this.scrub = new ScrubMetrics(this.#registry);
    this.edge = new EdgeMetrics(this.#registry);
    this.dataplane = new DataplaneMetrics(this.#registry);
    this.filterRules = new FilterRuleMetrics(this.#registry);
    this.prefixSets = new PrefixSetMetrics(this.#registry);
    this.files = new FileMetrics(this.#registry);
    this.telemetry = new TelemetryMetrics(this.#registry);
    this.signIn = new SignInMetrics(this.#registry);
    this.beforeScrape(() => this.api.fill());
  }

  /** Only of a cluster with an etcd. */
  get etcd(): EtcdMetrics {
    this.#etcd ??= new EtcdMetrics(this.#registry);
    return this.#etcd;
  }

  /** Made at the first use: a service without a cluster shows none of them. */
  get cluster(): ClusterMetrics {
    this.#cluster ??= new ClusterMetrics(this.#registry);
    return this.#cluster;
  }

  /** Those of the process too: of a registry that is the process's own. */
  collectProcess(): void {
    collectProcessMetrics(this.#registry);
  }

  setDryRun(dryRun: boolean): void {
    this.#dryRun.set(dryRun ? 1 : 0);
  }

  /** Runs `read` before each scrape, for values that their owners keep, so that all are of the same moment. */
  beforeScrape(read: () => void): void {
    this.#readings.push(read);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The text exposition format. Not while another one is written. */
  async text(): Promise<string> {
    for (const read of this.#readings) read();
    return exposition(this.#registry);
  }
}
