/** Selects the scrub node for a diverted victim. Pure. The caller decides whether a victim stays with its node. */
import type { Liveness } from "../nodes/node-presence.ts";
import type { NodeSelection } from "./scrubbing-config.ts";

/** A node that accepts the traffic, if it is alive. */
export interface Candidate {
  readonly name: string;
  readonly liveness: Liveness;
  /** Fraction of its capacity, from its reports and from later diverts; 0 if unknown. */
  readonly utilization: number;
  /** Number of bans diverted to it. */
  readonly bans: number;
  /** Whether it reported that the victim's rules are in force: they are of a ban that moves. */
  readonly enforces: boolean;
  /** Whether it supports the match fields of all of the victim's rules. */
  readonly holdsAllRules: boolean;
}

/**
 * Nodes that may be alive are used if none is known to be: those that did not poll yet shortly after a start, and those
 * that a brain out of reach saw last. null: all are lost.
 */
export function selectNode<Node extends Candidate>(
  victim: string,
  candidates: readonly Node[],
  selection: NodeSelection,
): Node | null {
  const alive = candidates.filter(({ liveness }) => liveness === "alive");
  const pool = alive.length > 0 ? alive : candidates.filter(({ liveness }) => liveness !== "lost");
  const seed = hash(victim);
  let best: Node | null = null;
  for (const node of pool) if (best === null || isBetter(node, best, selection, seed)) best = node;
  return best;
}

function isBetter(a: Candidate, b: Candidate, selection: NodeSelection, seed: number): boolean {
  if (a.enforces !== b.enforces) return a.enforces;
  const isByLoad = selection === "least_loaded";
  if (isByLoad && a.utilization !== b.utilization) return a.utilization < b.utilization;
  if (a.holdsAllRules !== b.holdsAllRules) return a.holdsAllRules;
  if (isByLoad && a.bans !== b.bans) return a.bans < b.bans;
  const [scoreOfA, scoreOfB] = [score(a.name, seed), score(b.name, seed)];
  return scoreOfA === scoreOfB ? a.name < b.name : scoreOfA > scoreOfB;
}

/**
 * Rendezvous hashing (Thaler and Ravishankar, 1998): each victim ranks all nodes in its own order, so that a node that
 * is added or removed moves only its own victims.
 */
function score(name: string, seed: number): number {
  return mixed(hash(name) ^ seed);
}

function hash(text: string): number {
  return Number(Bun.hash.xxHash32(text));
}

/** Each input bit changes half of the output bits (the finalizer of MurmurHash3). */
function mixed(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
