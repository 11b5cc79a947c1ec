/** What the scrubbing lab measured of a flood and of the requests beside it, and what of that is not good enough. Pure. */
import { PATIENCE } from "../../fixtures/patience.ts";
import type { RequestSummary } from "./scrub-requests.ts";

/**
 * Of the flood that may reach the victim, in all; a shorter flood than LONG_SECONDS: from the first drop on. It is what
 * comes until the rules are there, which takes an emulated machine this many times longer.
 */
const FLOOD_SHARE_MAX = 0.01 * PATIENCE;
/** What passes before the first drop does not grow with the flood: it is within the share of one that lasts this time. */
const LONG_SECONDS = 30;
const SERVED_SHARE_MIN = 0.99;
/** Of the flood that may be lost on the way, in the queues of a machine that stands still for a moment. */
const LOST_SHARE_MAX = 0.01 * PATIENCE;

/** Packets of the flood. */
export interface FloodCounts {
  readonly sent: number;
  readonly dropped: number;
  readonly arrived: number;
}

export interface Measured {
  readonly floodSeconds: number;
  readonly flood: FloodCounts;
  /** Of these, before the first drop was seen; `sent` is what had come to either by then. */
  readonly beforeFirstDrop: FloodCounts;
  /** Begun between the first packet of the flood and the return to the straight way. */
  readonly requests: RequestSummary;
  /** That a client at its pace would have made in that time. */
  readonly requestsDue: number;
}

export function arrivedShare({ flood }: Measured): number {
  return flood.arrived / flood.sent;
}

export function arrivedShareFromFirstDrop({ flood, beforeFirstDrop }: Measured): number {
  return (flood.arrived - beforeFirstDrop.arrived) / (flood.sent - beforeFirstDrop.sent);
}

/** Empty: good. */
export function complaintsOf(measured: Measured): readonly string[] {
  const { flood, floodSeconds, requests, requestsDue } = measured;
  const [inAll, later] = [arrivedShare(measured), arrivedShareFromFirstDrop(measured)];
  const lost = flood.sent - flood.dropped - flood.arrived;
  const complaints: string[] = [];
  if (!(later <= FLOOD_SHARE_MAX)) complaints.push(`after the first drop ${percent(later)} of the flood arrived`);
  if (floodSeconds >= LONG_SECONDS && !(inAll <= FLOOD_SHARE_MAX))
    complaints.push(`${percent(inAll)} of the flood arrived`);
  if (lost < 0) complaints.push(`more was dropped and arrived than was sent: ${-lost} packets`);
  // Else the victim is spared by a jam on the way, and not by the scrub node.
  if (!(lost <= LOST_SHARE_MAX * flood.sent)) complaints.push(`${lost} packets of the flood were lost on the way`);
  if (!(requests.served >= SERVED_SHARE_MIN * requests.requests)) {
    complaints.push(`of ${requests.requests} requests ${requests.requests - requests.served} were not served`);
  }
  if (!(requests.requests >= requestsDue / 2)) {
    complaints.push(`only ${requests.requests} of ${requestsDue} requests were made: the machine is too busy`);
  }
  return complaints;
}

/** `0.82 %`. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}
