/** Which scrub node a diverted victim goes to. Pure. Whether it may stay where it is, is not asked here. */
import type { NodeSelection } from "../config/sections/nodes.ts";
import type { Liveness } from "../nodes/node-presence.ts";

/** A node that takes the traffic, if it is there. */
export interface Candidate {
  readonly name: string;
  readonly liveness: Liveness;
  /** Of its capacity, by its reports and by what was diverted to it since; 0 where that is not known. */
  readonly utilization: number;
  /** Diverted to it. */
  readonly bans: number;
}

/** After a start nodes that were not heard of yet are better than none. null: all are lost. */
export function selectNode<Node extends Candidate>(
  victim: string,
  candidates: readonly Node[],
  selection: NodeSelection,
): Node | null {
  const alive = candidates.filter(({ liveness }) => liveness === "alive");
  const pool = alive.length > 0 ? alive : candidates.filter(({ liveness }) => liveness === "not_seen");
  const seed = hash(victim);
  let best: Node | null = null;
  for (const node of pool) if (best === null || isBetter(node, best, selection, seed)) best = node;
  return best;
}

function isBetter(a: Candidate, b: Candidate, selection: NodeSelection, seed: number): boolean {
  if (selection === "least_loaded") {
    if (a.utilization !== b.utilization) return a.utilization < b.utilization;
    if (a.bans !== b.bans) return a.bans < b.bans;
  }
  const [scoreOfA, scoreOfB] = [score(a.name, seed), score(b.name, seed)];
  return scoreOfA === scoreOfB ? a.name < b.name : scoreOfA > scoreOfB;
}

/**
 * Rendezvous hashing (Thaler and Ravishankar, 1998): each victim ranks all nodes in an order of its own, so that one that
 * comes or goes moves its own victims alone.
 */
function score(name: string, seed: number): number {
  return mixed(hash(name) ^ seed);
}

function hash(text: string): number {
  return Number(Bun.hash.xxHash32(text));
}

/** Each bit of the input changes half of the output's (the finalizer of MurmurHash3). */
function mixed(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
