/** Our collector of flow records in a process of its own, for tests and benches: the addon's source and engine. */
import { join } from "node:path";
import type { ExporterRule, ExporterStatus } from "../../src/dataplane/native-flow.d.ts";
import { LineProcess } from "../fixtures/line-process.ts";
import type { Namespace } from "../lab/namespaces.ts";

const WORKER = join(import.meta.dir, "collector-worker.ts");
const ADDON = join(import.meta.dir, "../../build/addon/floodwall.node");

const SETTLE_READINGS_MAX = 8;

export interface CollectorOptions {
  readonly addon: string;
  readonly port: number;
  readonly networks: readonly string[];
  /** Prefixes of those that may send. */
  readonly exporters: readonly string[];
  /** Which records count; `both` where it is absent, as other readers do. */
  readonly direction?: ExporterRule["direction"];
  /** Bytes. */
  readonly receiveBuffer: number;
  readonly threads?: number;
  /** Whether it also sums up what each host got. */
  readonly keepsTotals: boolean;
}

export interface HostTotals {
  readonly packets: number;
  /** Of frames without their check sum. */
  readonly bytes: number;
}

export interface CollectorCounts {
  readonly datagrams: number;
  /** Datagrams that found the receive buffer full. */
  readonly overruns: number;
  /** Datagrams of others than the exporters. */
  readonly refused: number;
  readonly exporters: readonly (Omit<ExporterStatus, "address"> & { readonly address: string })[];
  readonly hosts: Readonly<Record<string, HostTotals>>;
  readonly residentBytes: number;
}

export class Collector {
  readonly #process: LineProcess;

  private constructor(process: LineProcess) {
    this.#process = process;
  }

  /** Resolves when it counts. @param runner runs it: on a CPU of its own, say. */
  static async start(
    namespace: Namespace,
    options: Omit<CollectorOptions, "addon">,
    runner: readonly string[] = [],
  ): Promise<Collector> {
    const worker = [process.execPath, WORKER, JSON.stringify({ addon: ADDON, ...options })];
    const child = new LineProcess(namespace.command([...runner, ...worker]));
    await child.line();
    return new Collector(child);
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Takes a second: what was received before is in it. */
  async counts(): Promise<CollectorCounts> {
    return JSON.parse(await this.#process.ask("counts")) as CollectorCounts;
  }

  /** Flows that lasted for some time are counted over as long a time: when that is over, or after some seconds. */
  async settledCounts(): Promise<CollectorCounts> {
    for (let last = await this.counts(), reading = 1; ; reading++) {
      const now = await this.counts();
      if (Bun.deepEquals(now.hosts, last.hosts) || reading === SETTLE_READINGS_MAX) return now;
      last = now;
    }
  }

  stop(): Promise<void> {
    return this.#process.end();
  }
}
