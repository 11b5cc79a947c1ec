/** Runs the sender of flow records (test/telemetry/sender), which plays exporters. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { outputOf } from "../fixtures/child-output.ts";
import { runCommand } from "../fixtures/run-command.ts";
import type { Namespace } from "../lab/namespaces.ts";

const FOLDER = join(import.meta.dir, "sender");
const PROGRAM = join(import.meta.dir, "../../build/telemetry/record_sender");

export type FlowProtocol = "netflow5" | "netflow9" | "ipfix" | "sflow";

/** See `record_sender --help`. */
export interface RecordTraffic {
  readonly protocol: FlowProtocol;
  readonly port: number;
  readonly to?: string;
  readonly from?: string;
  readonly exporters?: number;
  /** Records per second of all exporters; default: as fast as it goes. */
  readonly rate?: number;
  readonly seconds?: number;
  readonly records?: number;
  readonly per?: number;
  readonly firstHost?: string;
  readonly hosts?: number;
  readonly sampling?: number;
  readonly packets?: number;
  readonly bytes?: number;
  readonly durationMs?: number;
  /** Seconds; 0: only at the beginning. */
  readonly templatesEvery?: number;
  readonly extraTemplates?: number;
  readonly burstMs?: number;
  readonly isPoisson?: boolean;
  readonly hasFarewell?: boolean;
  readonly mark?: number;
  readonly seed?: number;
  /** A file for what each destination got. */
  readonly totals?: string;
}

export interface SentRecords {
  /** With those of templates. */
  readonly datagrams: number;
  readonly records: number;
  readonly bytes: number;
  readonly refused: number;
  readonly first_wall_ns: number;
  readonly duration_ns: number;
  readonly marked_ns: number;
  readonly late_ns: number;
}

/** Packets and bytes as the exporters counted them, before anything is multiplied by a sampling rate. */
export interface SentTotals {
  readonly hosts: Readonly<
    Record<string, { readonly records: number; readonly packets: number; readonly bytes: number }>
  >;
  /** Records by exporter. */
  readonly exporters: Readonly<Record<string, number>>;
}

const FLAGS = {
  durationMs: "duration",
  burstMs: "burst",
  firstHost: "first-host",
  extraTemplates: "extra-templates",
  templatesEvery: "templates-every",
};

export function buildRecordSender(): void {
  runCommand(["make", "-C", FOLDER, "--no-print-directory", "all"]);
}

/** Resolves with what was sent, when all of it is. @param runner runs the sender: on a CPU of its own, say. */
export async function sendRecords(
  namespace: Namespace,
  { isPoisson = false, hasFarewell = false, ...traffic }: RecordTraffic,
  runner: readonly string[] = [],
): Promise<SentRecords> {
  const flags = Object.entries(traffic).flatMap(([name, value]) => [
    `--${FLAGS[name as keyof typeof FLAGS] ?? name}`,
    String(value),
  ]);
  const words = [...(isPoisson ? ["--poisson"] : []), ...(hasFarewell ? ["--farewell"] : [])];
  const command = namespace.command([...runner, PROGRAM, ...flags, ...words]);
  return JSON.parse(await outputOf({ name: "record sender", command })) as SentRecords;
}

export function readTotals(path: string): SentTotals {
  return JSON.parse(readFileSync(path, "utf8")) as SentTotals;
}
