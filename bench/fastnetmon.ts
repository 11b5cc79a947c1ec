/** FastNetMon (Debian's package) in a network namespace of its own, with its default detection settings. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../test/fixtures/service.ts";
import type { Namespace } from "../test/lab/namespaces.ts";

const DEFAULTS = "/etc/fastnetmon.conf";

export function fastNetMonUnavailable(): string | null {
  return existsSync(DEFAULTS) && Bun.which("fastnetmon") !== null ? null : "FastNetMon is not installed (fastnetmon)";
}

export interface FastNetMonOptions {
  readonly namespace: Namespace;
  /** Captured with AF_PACKET. */
  readonly interface: string;
  readonly network: string;
  readonly thresholdPps: number;
}

export class FastNetMon {
  readonly #process: Bun.Subprocess;
  readonly #directory: string;

  private constructor(process: Bun.Subprocess, directory: string) {
    this.#process = process;
    this.#directory = directory;
  }

  /** Resolves when it counts. */
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
    const command = ["fastnetmon", "--configuration_file", join(directory, "fastnetmon.conf"), "--disable_pid_logic"];
    const log = Bun.file(join(directory, "log"));
    const child = Bun.spawn(options.namespace.command([...command, "--log_file", join(directory, "fastnetmon.log")]), {
      stdin: "ignore",
      stdout: log,
      stderr: log,
    });
    const started = new FastNetMon(child, directory);
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

  get statisticsFile(): string {
    return join(this.#directory, "statistics");
  }

  /** Wall time in ms at which its ban script ran for the address, or null. */
  bannedAtMs(address: string): number | null {
    const match = new RegExp(`^(\\d+) ${address} ban$`, "m").exec(readFileSync(join(this.#directory, "bans"), "utf8"));
    return match === null ? null : Number(match[1]) / 1e6;
  }

  /** Packets per second towards the network, as it shows them itself. */
  incomingPps(): number {
    const match = /Incoming traffic\s+(\d+) pps/.exec(readFileSync(this.statisticsFile, "utf8"));
    return Number(match?.[1] ?? 0);
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

/** Debian's file, with the interface, the network and the threshold of the bench, and nothing that calls home. */
function configure(options: FastNetMonOptions, directory: string): string {
  const values: Record<string, string> = {
    disable_usage_report: "on",
    mirror_afpacket: "on",
    interfaces: options.interface,
    networks_list_path: join(directory, "networks"),
    white_list_path: join(directory, "whitelist"),
    threshold_pps: String(options.thresholdPps),
    threshold_mbps: "100000",
    notify_script_path: join(directory, "notify.sh"),
    cli_stats_file_path: join(directory, "statistics"),
    cli_stats_ipv6_file_path: join(directory, "statistics6"),
    enable_api: "off",
    monitor_local_ip_addresses: "off",
  };
  const lines = readFileSync(DEFAULTS, "utf8").split("\n");
  const kept = lines.filter((line) => values[line.split("=")[0]?.trim() ?? ""] === undefined);
  return `${kept.join("\n")}\n${Object.entries(values)
    .map(([key, value]) => `${key} = ${value}`)
    .join("\n")}\n`;
}
