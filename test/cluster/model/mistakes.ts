/** Mistakes in the rules by which brains agree: each is a change of one line of the source that the model must notice. */
import type { Invariant } from "./history.ts";

export interface Mistake {
  readonly name: string;
  readonly path: string;
  /** Occurs once in the file. */
  readonly from: string;
  readonly to: string;
  /** One of these is violated. */
  readonly violates: readonly Invariant[];
}

const CLUSTER = "src/cluster";

export const MISTAKES: readonly Mistake[] = [
  {
    name: "the oldest order of a key wins",
    path: `${CLUSTER}/stamp.ts`,
    from: "return a.ms - b.ms;",
    to: "return b.ms - a.ms;",
    violates: ["no acknowledged order is lost"],
  },
  {
    name: "of two orders of one millisecond each brain keeps its own",
    path: `${CLUSTER}/stamp.ts`,
    from: "return a.brain === b.brain ? 0 : a.brain < b.brain ? -1 : 1;",
    to: "return 0;",
    violates: ["brains agree on orders"],
  },
  {
    name: "stamps follow the own clock alone, not those that were seen",
    path: `${CLUSTER}/stamp.ts`,
    from: "this.#lastMs = Math.max(this.#lastMs, ms);",
    to: "void ms;",
    violates: ["brains agree on orders", "no acknowledged order is lost"],
  },
  {
    name: "an order that arrives last is in force, whatever its stamp",
    path: `${CLUSTER}/order-register.ts`,
    from: "if (known !== null && !isNewer(shared.stamp, known.stamp) && !isBetter(corrected, known)) {",
    to: "if (known !== null && shared.stamp.ms === known.stamp.ms && shared.stamp.brain === known.stamp.brain) {",
    violates: ["brains agree on orders", "no acknowledged order is lost"],
  },
  {
    name: "the end of an order is kept, and the order stays in force",
    path: `${CLUSTER}/order-adoption.ts`,
    from: "table.end({ key: kept.key, endedBy, endedAtMs: atMs }, wallMs);",
    to: "",
    violates: ["no route without an order"],
  },
  {
    name: "a brain that comes up gets what is new, not all that it lacks",
    path: `${CLUSTER}/peer-exchange.ts`,
    from: "for (const record of this.#options.records()) if (isMeant(record)) peer.unconfirmed.add(record, nowMs);",
    to: "",
    violates: ["brains agree on orders"],
  },
  {
    name: "orders of other stamps count as equal when brains compare what they have",
    path: `${CLUSTER}/order-digest.ts`,
    from: "const text = `",
    to: "const text = name; void `",
    violates: ["brains agree on orders"],
  },
  {
    name: "times of a clock that is not known are taken without a correction",
    path: `${CLUSTER}/order-adoption.ts`,
    from: "return known?.isCurrent === true ? this.#onOwnClock(rest, known) : shared;",
    to: "return known?.isCurrent === true ? this.#onOwnClock(rest, known) : rest;",
    violates: ["no acknowledged order is lost", "no route without an order"],
  },
  {
    name: "times of another brain's clock are not corrected",
    path: `${CLUSTER}/peer-exchange.ts`,
    from: "if (Math.abs(skewMs) < CLOCKS_AGREE_MS) return records;",
    to: "if (skewMs !== 0.5) return records;",
    violates: ["no acknowledged order is lost", "no route without an order"],
  },
  {
    name: "that etcd has lost its data goes unnoticed",
    path: `${CLUSTER}/etcd/etcd-exchange.ts`,
    from: "if (id !== this.#generationId || this.#isComparisonDue()) await",
    to: "if (this.#generationId === null || this.#isComparisonDue()) await",
    violates: ["brains agree on orders"],
  },
  {
    name: "a lease is taken at once after etcd has lost its data",
    path: `${CLUSTER}/etcd/data-generation.ts`,
    from: '{ key: this.#youngKey, target: "CREATE", revision: 0 },',
    to: "",
    violates: ["leases do not overlap"],
  },
  {
    name: "a lease lasts a second longer than etcd keeps it",
    path: `${CLUSTER}/etcd/lease-terms.ts`,
    from: "goneMs < seconds * 1000 - MARGIN_MS",
    to: "goneMs < seconds * 1000 + 1000",
    violates: ["leases do not overlap"],
  },
  {
    name: "every brain sends what it sees",
    path: `${CLUSTER}/joins/deliveries.ts`,
    from: '(holds ? "own" : "kept")',
    to: '"granted"',
    violates: ["no event is repeated without a fault"],
  },
  {
    name: "what another brain was to send is never sent once it is gone",
    path: `${CLUSTER}/joins/deliveries.ts`,
    from: "      if (holds) {",
    to: "      if (holds && known.by === null && known.sinceMs < 0) {",
    violates: ["no event is lost"],
  },
  {
    name: "each brain takes the id of the other one",
    path: `${CLUSTER}/joins/attacks.ts`,
    from: "if (foreign.joinedId < joinedId) joinedId = foreign.joinedId;",
    to: "joinedId = foreign.joinedId;",
    violates: ["brains agree on attacks"],
  },
];
