/** FastNetMon (Debian's package) in its own network namespace, with its default detection settings. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../test/fixtures/service.ts";
import type { Namespace } from "../test/lab/namespaces.ts";

const DEFAULTS = "/etc/fastnetmon.conf";
const METRICS_PORT = 9209;

export function fastNetMonUnavailable(): string | null {
  return existsSync(DEFAULTS) && Bun.which("fastnetmon") !== null ? null : "FastNetMon is not installed (fastnetmon)";
}

export interface FastNetMonOptions {
  readonly namespace: Namespace;
  /** Captured with AF_PACKET; default: none. */
  readonly interface?: string;
  /** It takes flow records or samples at this UDP port; default: none. */
  readonly flows?: { readonly kind: "netflow" | "sflow"; readonly port: number };
  readonly network: string;
  readonly thresholdPps: number;
  /** It sends the rates of all hosts to a Graphite server at this port of its namespace, once a second; default: none. */
  readonly graphitePort?: number;
  /** Default: any. */
  readonly cpu?: number;
  /** Runs it: with another priority, say. */
  readonly runner?: readonly string[];
}

export class FastNetMon {
  readonly #process: Bun.Subprocess;
  readonly #directory: string;
  readonly #namespace: Namespace;

  private constructor(process: Bun.Subprocess, directory: string, namespace: Namespace) {
    this.#process = process;
    this.#directory = directory;
    this.#namespace = namespace;
  }

  /** Resolves when it is counting. */
  static async start(options: FastNetMonOptions): Promise<FastNetMon> {
    const directory = mkdtempSync(join(tmpdir(), `fastnetmon-${process.pid}-`));
    writeFileSync(join(directory, "networks"), `${options.network}\n`);
    writeFileSync(join(directory, "whitelist"), "");
    writeFileSync(join(directory, "bans"), "");
    writeFileSync(
      join(directory, "notify.sh"),
      `#!/bin/sh\necho "$(date +%s%N) $1 $4" >> ${directory}/bans\ncat > /dev/null\n`,
    );
    chmodSync(join(directory, "notify.sh"), 0o755);
    writeFileSync(join(directory, "fastnetmon.conf"), configure(options, directory));
    const pinned = options.cpu === undefined ? [] : ["taskset", "-c", String(options.cpu)];
    const command = [
      ...(options.runner ?? []),
      ...pinned,
      "fastnetmon",
      "--configuration_file",
      join(directory, "fastnetmon.conf"),
      "--disable_pid_logic",
    ];
    const log = Bun.file(join(directory, "log"));
    const child = Bun.spawn(options.namespace.command([...command, "--log_file", join(directory, "fastnetmon.log")]), {
      stdin: "ignore",
      stdout: log,
      stderr: log,
    });
    const started = new FastNetMon(child, directory, options.namespace);
    try {
      await eventually(
        () => existsSync(started.statisticsFile),
        () => `FastNetMon did not start:\n${started.log()}`,
        20_000,
      );
      return started;
    } catch (cause) {
      await started.stop();
      throw cause;
    }
  }

  get pid(): number {
    return this.#process.pid;
  }

  get statisticsFile(): string {
    return join(this.#directory, "statistics");
  }

  /** Wall time in ms at which its ban script ran for the address, or null. */
  bannedAtMs(address: string): number | null {
    const match = new RegExp(`^(\\d+) ${address} ban$`, "m").exec(readFileSync(join(this.#directory, "bans"), "utf8"));
    return match === null ? null : Number(match[1]) / 1e6;
  }

  /** Packets that it has counted since its start. */
  countedPackets(): number {
    const ask = `console.log(await (await fetch("http://127.0.0.1:${METRICS_PORT}/metrics")).text())`;
    const metrics = this.#namespace.run([process.execPath, "-e", ask]);
    const match = /^fastnetmon_total_ipv4_packets (\d+)$/m.exec(metrics);
    if (match === null) throw new Error(`FastNetMon does not report its packet counter:\n${metrics}`);
    return Number(match[1]);
  }

  residentBytes(): number {
    const status = readFileSync(`/proc/${this.#process.pid}/status`, "utf8");
    return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  }

  log(): string {
    return ["log", "fastnetmon.log"]
      .map((name) => join(this.#directory, name))
      .map((path) => (existsSync(path) ? readFileSync(path, "utf8").slice(-2000) : ""))
      .join("\n");
  }

  async stop(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.exited;
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** Debian's configuration file with the interface, network and threshold of the bench, and without usage reports. */
function configure({ flows, ...options }: FastNetMonOptions, directory: string): string {
  const values: Record<string, string> = {
    disable_usage_report: "on",
    ...(options.interface !== undefined && { mirror_afpacket: "on", interfaces: options.interface }),
    ...(flows !== undefined && { [flows.kind]: "on", [`${flows.kind}_port`]: String(flows.port) }),
    ...(options.graphitePort !== undefined && {
      ...{ graphite: "on", graphite_host: "127.0.0.1", graphite_port: String(options.graphitePort) },
      // Rates of the last second, nearly.
      ...{ graphite_push_period: "1", average_calculation_time: "1" },
    }),
    networks_list_path: join(directory, "networks"),
    white_list_path: join(directory, "whitelist"),
    threshold_pps: String(options.thresholdPps),
    threshold_mbps: "100000",
    notify_script_path: join(directory, "notify.sh"),
    cli_stats_file_path: join(directory, "statistics"),
    cli_stats_ipv6_file_path: join(directory, "statistics6"),
    enable_api: "off",
    prometheus: "on",
    prometheus_host: "127.0.0.1",
    prometheus_port: String(METRICS_PORT),
    monitor_local_ip_addresses: "off",
  };
  const lines = readFileSync(DEFAULTS, "utf8").split("\n");
  const kept = lines.filter((line) => values[line.split("=")[0]?.trim() ?? ""] === undefined);
  return `${kept.join("\n")}\n${Object.entries(values)
    .map(([key, value]) => `${key} = ${value}`)
    .join("\n")}\n`;
}
