/** A service in this process that sees nothing but flow records, by its real decoder, at the pace of real time. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfigOrThrow } from "../../src/config/load/load.ts";
import { loadAddon } from "../../src/dataplane/addon.ts";
import { openLog } from "../../src/observability/log.ts";
import { Metrics } from "../../src/observability/metrics.ts";
import { Floodwall } from "../../src/service/floodwall.ts";
import { StateDatabase } from "../../src/storage/state-database.ts";
import { systemClock } from "../../src/system/clock.ts";
import { systemTimers } from "../../src/system/timers.ts";
import { localStore } from "../fixtures/storage/memory-state.ts";
import { freeUdpPort } from "../fixtures/telemetry/datagrams.ts";

export class FlowWorld {
  readonly floodwall: Floodwall;
  /** At level error. */
  readonly errors: string[] = [];
  readonly #port: number;
  readonly #directory: string;
  readonly #sockets = new Map<string, Bun.udp.Socket<"uint8array">>();

  /** @param exporters the lines of `telemetry.exporters`. */
  static async open(exporters: readonly string[]): Promise<FlowWorld> {
    return new FlowWorld(await freeUdpPort(), exporters);
  }

  private constructor(port: number, exporters: readonly string[]) {
    this.#port = port;
    this.#directory = mkdtempSync(join(tmpdir(), `floodwall-flows-${process.pid}-`));
    const configPath = join(this.#directory, "floodwall.yaml");
    writeFileSync(
      configPath,
      `dry_run: false
state_dir: ${this.#directory}
networks: [203.0.113.0/24]
thresholds: { pps: 5000, mbps: 100000, flows_per_sec: 100000 }
thresholds_outgoing: { pps: 1000 }
storage: { driver: none }
telemetry:
  listen: [{ address: 127.0.0.1, port: ${port} }]
  exporters:
${exporters.map((line) => `    - ${line}\n`).join("")}`,
    );
    const destination = { write: (line: string) => void this.errors.push(line) };
    this.floodwall = new Floodwall({
      config: loadConfigOrThrow(configPath),
      configPath,
      state: localStore(new StateDatabase(this.#directory), systemTimers),
      native: loadAddon(),
      clock: systemClock,
      timers: systemTimers,
      environment: { read: () => null },
      log: openLog({ level: "error", clock: systemClock, destination }),
      metrics: new Metrics("1"),
      profileKeeper: { load: async () => 0, save: async () => {} },
    });
    this.floodwall.start();
  }

  async send(from: string, datagrams: readonly Uint8Array[]): Promise<void> {
    let socket = this.#sockets.get(from);
    if (socket === undefined) {
      socket = await Bun.udpSocket({ hostname: from, binaryType: "uint8array", socket: { error() {} } });
      this.#sockets.set(from, socket);
    }
    for (const datagram of datagrams) if (datagram.length > 0) socket.send(datagram, this.#port, "127.0.0.1");
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.values()) socket.close();
    await this.floodwall.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
