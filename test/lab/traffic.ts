/** Traffic out of a network namespace, by the lab's traffic source (`build/lab/traffic_source`). */
import { join } from "node:path";
import type { Namespace } from "./namespaces.ts";

export const TRAFFIC_SOURCE = join(import.meta.dir, "../../build/lab/traffic_source");

export interface TrafficOptions {
  readonly profile: "udp" | "syn" | "dns" | "mixed";
  /** The first of `hosts` addresses. */
  readonly target: string;
  readonly pps: number;
  readonly seconds: number;
  /** The first of `sources` addresses. */
  readonly source?: string;
  /** How many of each take turns. Default: one. */
  readonly hosts?: number;
  readonly sources?: number;
  /** Of the far end. */
  readonly ports?: number;
  /** Default: by rate. */
  readonly path?: "socket" | "live";
  /** The namespace's device. Default: wire0. */
  readonly dev?: string;
}

/** What the traffic source says that it sent. */
export interface Sent {
  readonly packets: number;
  readonly bytes: number;
  readonly device_drops: number;
  readonly first_packet_wall_ns: number;
  readonly duration_ns: number;
}

/** Resolves with what was sent, when all of it is. The sender has the first CPU. */
export async function sendTraffic(from: Namespace, traffic: TrafficOptions): Promise<Sent> {
  const { target, source, ...rest } = traffic;
  const values = { dev: "wire0", cpu: 0, dst: target, ...(source === undefined ? {} : { src: source }), ...rest };
  const flags = Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = Bun.spawn(from.command([TRAFFIC_SOURCE, ...flags]), { stdout: "pipe", stderr: "pipe" });
  const [output, complaint] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`traffic source: ${complaint}`);
  return JSON.parse(output) as Sent;
}
