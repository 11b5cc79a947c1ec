/**
 * Whether most of what a source sees is inside of what it does not take apart, so that it is counted to the ends of
 * tunnels or not at all.
 */

import { ENCAPSULATIONS } from "../native/constants.ts";
import type { QueueStats } from "./native.d.ts";

/** Fewer packets than this between two looks say nothing. */
const PACKETS_MIN = 100;
const MOST = 0.5;

interface Counts {
  readonly received: number;
  readonly encapsulated: Readonly<Record<string, number>>;
}

export class EncapsulatedTraffic {
  #before: Counts = { received: 0, encapsulated: {} };
  #warning: string | null = null;

  /** The finding of the last look with enough traffic; null: all is well. */
  get warning(): string | null {
    return this.#warning;
  }

  /** Call it every few seconds. `key` is where the configuration names what is taken apart. */
  look(queues: readonly QueueStats[], key: string, decapsulate: readonly string[]): void {
    const now = countsOf(queues);
    const received = now.received - this.#before.received;
    if (received >= 0 && received < PACKETS_MIN) return;
    const found = ENCAPSULATIONS.map(
      (kind) => [kind, (now.encapsulated[kind] ?? 0) - (this.#before.encapsulated[kind] ?? 0)] as const,
    ).filter(([, packets]) => packets > 0);
    this.#before = now;
    const share = found.reduce((sum, [, packets]) => sum + packets, 0) / received;
    this.#warning = received > 0 && share > MOST ? warningOf(found, { share, key, decapsulate }) : null;
  }
}

function countsOf(queues: readonly QueueStats[]): Counts {
  const encapsulated: Record<string, number> = {};
  for (const [kind, count] of queues.flatMap((queue) => Object.entries(queue.encapsulated))) {
    encapsulated[kind] = (encapsulated[kind] ?? 0) + count;
  }
  return { received: queues.reduce((sum, queue) => sum + queue.receivedPackets, 0), encapsulated };
}

function warningOf(
  found: readonly (readonly [kind: string, packets: number])[],
  { share, key, decapsulate }: { share: number; key: string; decapsulate: readonly string[] },
): string {
  const total = found.reduce((sum, [, packets]) => sum + packets, 0);
  // Kinds below one packet in a hundred are left out: a line of the configuration should name those the link carries.
  const kinds = found.filter(([, packets]) => packets > total / 100).map(([kind]) => kind);
  const wanted = ENCAPSULATIONS.filter((kind) => kinds.includes(kind) || decapsulate.includes(kind));
  return (
    `${Math.min(100, Math.round(share * 100))} % of the packets are ${kinds.join(", ")} and are not taken apart, so that hosts ` +
    `inside are not seen: set ${key}: [${wanted.join(", ")}]`
  );
}
