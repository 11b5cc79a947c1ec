/** The faults of a cluster, in words for people: to notify, and to show. Pure. */
import type { BrainView, ClusterFault, ClusterView } from "./cluster-view.ts";
import { CLOCKS_AGREE_MS } from "./order-adoption.ts";

/** A brain that restarts is not reported. */
const SPLIT_MS = 15_000;
const LAG_MS = 30_000;
/** Two configurations are changed one after the other. */
export const DIFFERS_MS = 300_000;
const CERTIFICATE_MS = 14 * 86_400_000;

/** @param differsMs for how long the configuration of a brain has differed, ms. */
export function clusterFaults(view: ClusterView, differsMs: (brain: string) => number, wallMs: number): ClusterFault[] {
  const faults = view.brains.flatMap((brain) => [...faultsOf(brain, differsMs(brain.name))]);
  return [...faults, ...ownFaults(view, wallMs)];
}

function* faultsOf(brain: BrainView, differsMs: number): Generator<ClusterFault> {
  const { name, isUp, inStateMs, problem, skewMs, unconfirmed, differs } = brain;
  if (!isUp && inStateMs >= SPLIT_MS) {
    yield {
      ...{ kind: "split", brain: name, found: `${name} cannot be reached: ${problem ?? "no connection yet"}` },
      remedy: `see whether ${name} runs, and whether its cluster.listen can be reached from here: each brain decides alone until then. Nodes that it alone saw stay as they are for ten minutes, and count as lost then`,
    };
  }
  if (isUp && skewMs !== null && Math.abs(skewMs) > CLOCKS_AGREE_MS) {
    const seconds = (Math.abs(skewMs) / 1000).toFixed(1);
    const [ahead, behind] = [
      `the clock of ${name} is ${seconds} s ahead`,
      `the clock of ${name} is ${seconds} s behind`,
    ];
    yield {
      ...{ kind: "clock", brain: name, found: skewMs > 0 ? ahead : behind },
      remedy: "set both clocks by NTP: the newest of two orders is found by the clocks",
    };
  }
  // Orders of the time that it was away begin to arrive as it comes back.
  if (isUp && Math.min(unconfirmed.oldestMs, inStateMs) >= LAG_MS) {
    yield {
      ...{ kind: "lag", brain: name },
      found: `${name} has not confirmed ${unconfirmed.orders} orders, the oldest for ${Math.round(unconfirmed.oldestMs / 1000)} s`,
      remedy: `see the log and the disk of ${name}`,
    };
  }
  if (isUp && differs !== null && differs.length > 0 && differsMs >= DIFFERS_MS) {
    yield {
      ...{ kind: "configuration", brain: name, found: `the configuration of ${name} differs in ${differs.join(", ")}` },
      remedy: "make these sections the same at both and reload: until then each brain acts by its own",
    };
  }
}

function* ownFaults(
  { name, orders, waiting, fault, etcd, certificateUntilMs }: ClusterView,
  wallMs: number,
): Generator<ClusterFault> {
  const [first] = waiting;
  if (first !== undefined) {
    yield {
      ...{ kind: "orders", brain: name },
      found: `${orders.waiting} orders of other brains are not in force here, the first for ${first.table} ${first.key}`,
      remedy: "make room by ending others, or make the configurations the same: they begin by themselves then",
    };
  }
  if (fault !== null) {
    yield {
      ...{ kind: "listen", brain: name, found: fault },
      remedy: "correct the files or the address of the section cluster: it is tried again each minute",
    };
  }
  if (etcd != null) yield { ...{ kind: "etcd", brain: name }, ...etcd };
  if (certificateUntilMs !== null && certificateUntilMs - wallMs < CERTIFICATE_MS) {
    const days = Math.floor((certificateUntilMs - wallMs) / 86_400_000);
    yield {
      ...{ kind: "certificate", brain: name },
      found:
        days < 0
          ? "the certificate of this brain is not valid any more"
          : `the certificate of this brain ends in less than ${days + 1} days`,
      remedy: "sign a new one and replace the file: it is read within a minute",
    };
  }
}

/** Reports the begin and the end of each fault once. */
export class ClusterFaultTurns {
  #present = new Map<string, ClusterFault>();

  take(faults: readonly ClusterFault[]): {
    readonly begun: readonly ClusterFault[];
    readonly over: readonly ClusterFault[];
  } {
    const now = new Map(faults.map((fault) => [`${fault.kind} ${fault.brain}`, fault]));
    const before = this.#present;
    this.#present = now;
    return {
      begun: [...now].flatMap(([key, fault]) => (before.has(key) ? [] : [fault])),
      over: [...before].flatMap(([key, fault]) => (now.has(key) ? [] : [fault])),
    };
  }
}
