/**
 * Whether most of what a source sees is of a kind that may have IP in it and is not read: then the operator should know
 * what it is. ARP, spanning tree and the like, which are all that an idle link carries, do not count for it.
 */
import type { NOT_IP_KINDS } from "../native/constants.ts";
import { etherTypesText } from "../traffic/ether-types.ts";
import type { QueueStats } from "./native.d.ts";

/** Fewer frames than this between two looks say nothing. */
const FRAMES_MIN = 100;
const MOST = 0.5;
const TYPES_NAMED = 3;
const UNREAD: readonly (typeof NOT_IP_KINDS)[number][] = ["mpls", "pppoe", "macsec", "other"];

interface Counts {
  readonly received: number;
  readonly unread: number;
  readonly etherTypes: Readonly<Record<string, number>>;
}

export class NotIpTraffic {
  #before: Counts = { received: 0, unread: 0, etherTypes: {} };
  #warning: string | null = null;

  /** The finding of the last look with enough traffic; null: all is well. */
  get warning(): string | null {
    return this.#warning;
  }

  /** Call it every few seconds. */
  look(queues: readonly QueueStats[]): void {
    const now = countsOf(queues);
    const received = now.received - this.#before.received;
    if (received >= 0 && received < FRAMES_MIN) return;
    const share = (now.unread - this.#before.unread) / received;
    this.#warning = received > 0 && share > MOST ? warningOf(share, this.#before, now) : null;
    this.#before = now;
  }
}

function countsOf(queues: readonly QueueStats[]): Counts {
  const etherTypes: Record<string, number> = {};
  for (const [type, count] of queues.flatMap((queue) => Object.entries(queue.etherTypes))) {
    etherTypes[type] = (etherTypes[type] ?? 0) + count;
  }
  return {
    received: queues.reduce((sum, queue) => sum + queue.receivedPackets, 0),
    unread: queues.reduce((sum, { notIp }) => sum + UNREAD.reduce((of, kind) => of + (notIp[kind] ?? 0), 0), 0),
    etherTypes,
  };
}

function warningOf(share: number, before: Counts, now: Counts): string {
  const recent = Object.entries(now.etherTypes)
    .map(([type, count]) => [type, count - (before.etherTypes[type] ?? 0)] as const)
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a)
    .slice(0, TYPES_NAMED);
  const types = etherTypesText(Object.fromEntries(recent));
  return (
    `${Math.min(100, Math.round(share * 100))} % of the frames are not IP: ${types}; ` +
    "see docs/operations/mirror-port.md, not IP"
  );
}
