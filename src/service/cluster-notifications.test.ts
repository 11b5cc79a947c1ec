/** The notifications of two brains, with a receiver that counts what it gets. */
import { beforeEach, describe, expect, test } from "bun:test";
import { JoinedBrains } from "../../test/fixtures/cluster/joined-brains.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { attackEvent, banEvent, scrubNodeEvent, sessionEvent } from "../../test/fixtures/notify/notify.ts";
import { attack } from "../../test/fixtures/views.ts";
import type { NotifyEvent } from "../notify/event.ts";
import { PairLease } from "./cluster-lease.ts";
import { ClusterNotifications } from "./cluster-notifications.ts";

const LEASE_MS = 15_000;

let clock: ManualClock;
let brains: JoinedBrains;
let world: Record<string, TestBrain>;
/** `kind id by brain` of all that was sent. */
let received: string[];
let ids: Set<string>;
/** `id of the attack by brain` of what was sent to a target that keeps alerts. */
let alerts: string[];
/** Ids of attacks that brains joined. */
let joined: Map<string, string>;
/** The brains that have these events; null: the one that sent it alone. */
let knownTo: Set<string | null>;
/** Above the begin of the attack of a test: it was restored. */
let brainsStartedAt = 0;

class TestBrain {
  readonly name: string;
  readonly notifications: ClusterNotifications;
  /** Does nothing any more. */
  isDead = false;
  /** What the receiver does with its events. */
  outcome: "taken" | "refused" | "unanswered" = "taken";
  dropped = 0;
  readonly #agreeing: (() => void)[] = [];

  constructor(name: string) {
    this.name = name;
    const peers = brains.of(name);
    const reach = new PairLease(peers, clock);
    this.notifications = new ClusterNotifications({
      ...{ peers, reach, clock, timers: new ManualTimers(clock) },
      lease: { holds: () => !this.isDead && reach.holds() },
      ids: {
        shown: (one) => ({ ...one, id: shownId(one.id) }),
        shownId,
        whenAgreed: (report) => {
          let isDone = false;
          const once = () => {
            if (!isDone) report();
            isDone = true;
          };
          this.#agreeing.push(once);
          new ManualTimers(clock).after(250, once);
        },
        agreeNow: () => {
          for (const report of this.#agreeing.splice(0)) report();
        },
      },
      startedAt: brainsStartedAt,
      onUnread: () => {},
      onDropped: (events) => {
        this.dropped += events;
      },
    });
    this.notifications.start(
      (event, target) => this.#queue(event, target),
      (target) => target === "on-call",
    );
    peers.on("synced", (from) => reach.synced(from));
    peers.onUp((other) => peers.send(other, "synced", {}));
  }

  /** As a queue does: asks, sends, and says so. */
  #queue(event: NotifyEvent, target: string): void {
    const once = this.notifications.once(target);
    new ManualTimers(clock).after(10, () => {
      if (this.isDead || !once.maySend(event) || this.outcome === "unanswered") return;
      if (this.outcome === "refused") {
        once.gaveUp([event]);
        return;
      }
      if (target === "on-call" && "attack" in event) alerts.push(`${event.kind} ${event.attack.id} by ${this.name}`);
      received.push(`${event.kind} by ${this.name}`);
      knownTo.add(this.notifications.brainsOf(event));
      ids.add(event.id);
      once.sent([event]);
    });
  }
}

const shownId = (own: string) => joined.get(own) ?? own.replace(/-of-.*/, "");
const at = (name: string) => world[name] as TestBrain;
const both = () => Object.values(world);
/** Each brain has its own id of the attack, and its own of the event. */
function happensAt(brain: TestBrain, event: NotifyEvent = attackEvent()): void {
  const named = { ...event, id: `${event.id} ${brain.name}` };
  brain.notifications.add(
    "attack" in named ? { ...named, attack: { ...named.attack, id: `${named.attack.id}-of-${brain.name}` } } : named,
    ["hook"],
  );
}
const happens = (event?: NotifyEvent) => {
  for (const brain of both()) if (!brain.isDead) happensAt(brain, event);
};

beforeEach(() => {
  brainsStartedAt = 0;
  clock = new ManualClock();
  brains = new JoinedBrains("brain1", "brain2");
  brains.nowMs = () => clock.monotonicMs();
  [received, ids, knownTo, world, alerts, joined] = [[], new Set(), new Set(), {}, [], new Map()];
  for (const name of brains.names) world[name] = new TestBrain(name);
  clock.advance(1000);
  brains.link("brain1", "brain2");
  clock.advance(1000);
});

describe("an attack of which brains do not agree in time", () => {
  test("is sent once, though each had an id of its own", () => {
    // The link is slow, and what the other brain says of the attack arrives before its offer: each begins with its own id.
    const attackOf = (id: string) => ({ ...attackEvent(), attack: attack({ id }) });
    at("brain1").notifications.add(attackOf("x"), ["hook"]);
    at("brain2").notifications.add(attackOf("w"), ["hook"]);
    clock.advance(600);
    at("brain1").notifications.renamed(new Map([["x", "w"]]));
    clock.advance(60_000);
    expect(received).toEqual(["attack_started by brain1"]);
    expect(both().map(({ notifications }) => notifications.waiting)).toEqual([0, 0]);
  });

  test("is sent if its id changes while it is in the queue", () => {
    at("brain1").notifications.add({ ...attackEvent(), attack: attack({ id: "x" }) }, ["hook"]);
    clock.advance(255);
    at("brain1").notifications.renamed(new Map([["x", "w"]]));
    clock.advance(60_000);
    expect(received).toEqual(["attack_started by brain1"]);
  });
});

describe("a brain that was started during an attack", () => {
  test("goes on with the numbers that the other one has", () => {
    const changed = { ...attackEvent(), kind: "attack_changed" } as NotifyEvent;
    for (let i = 0; i < 3; i++) happens(changed);
    clock.advance(1000);
    received = [];
    brains.cut("brain1", "brain2");
    brainsStartedAt = Number.MAX_SAFE_INTEGER;
    brains.restart("brain2");
    world["brain2"] = new TestBrain("brain2");
    brains.link("brain1", "brain2");
    clock.advance(1000);
    happensAt(at("brain2"), changed);
    clock.advance(60_000);
    expect(received).toEqual(["attack_changed by brain2"]);
  });
});

describe("without a fault", () => {
  test("the first brain sends each event once, with one id", () => {
    happens();
    happens(banEvent());
    clock.advance(60_000);
    expect(received).toEqual(["attack_started by brain1", "ban_active by brain1"]);
    expect([ids.size, ...both().map(({ notifications }) => notifications.waiting)]).toEqual([2, 0, 0]);
  });

  test("one that the other brain has first, or later, is sent once", () => {
    happensAt(at("brain2"));
    clock.advance(300);
    happensAt(at("brain1"));
    clock.advance(1000);
    happensAt(at("brain1"), banEvent());
    clock.advance(30_000);
    happensAt(at("brain2"), banEvent());
    clock.advance(60_000);
    expect(received).toEqual(["attack_started by brain1", "ban_active by brain1"]);
  });

  test("one that only the other brain has is sent by that", () => {
    happensAt(at("brain2"));
    clock.advance(10_000);
    expect(received).toEqual(["attack_started by brain2"]);
    happensAt(at("brain1"));
    clock.advance(60_000);
    expect(received).toHaveLength(1);
  });

  test("a ban that is virtual at one brain and real at the other is sent as both", () => {
    const event = banEvent();
    happensAt(at("brain1"), { ...event, ban: { ...event.ban, dryRun: true } });
    happensAt(at("brain2"), event);
    clock.advance(10_000);
    expect(received.toSorted()).toEqual(["ban_active by brain1", "ban_active by brain2"]);
  });

  test("what a brain sees of itself it sends itself", () => {
    happens(sessionEvent());
    clock.advance(60_000);
    expect(received).toEqual(["bgp_session_lost by brain1", "bgp_session_lost by brain2"]);
    expect([...knownTo]).toEqual([null]);
  });

  test("a fault that both see is sent once, and again when it comes back", () => {
    happens(scrubNodeEvent());
    clock.advance(700_000);
    happens(scrubNodeEvent({ atMs: scrubNodeEvent().atMs + 700_000 }));
    clock.advance(60_000);
    expect(received).toEqual(["scrub_node_fault by brain1", "scrub_node_fault by brain1"]);
    expect(ids.size).toBe(2);
  });

  test("each change of an attack is an event of its own", () => {
    for (let i = 0; i < 3; i++) happens(attackEvent({ kind: "attack_changed" }));
    happens(attackEvent({ kind: "attack_ended", attack: attack({ id: "other" }) }));
    clock.advance(60_000);
    expect([received.length, ids.size]).toEqual([4, 4]);
  });
});

describe("an attack that ends at one brain and lasts at the other", () => {
  const changed = attackEvent({ kind: "attack_changed" });
  const ended = attackEvent({ kind: "attack_ended" });

  test("has another end once it was notified again", () => {
    happens();
    happens(changed);
    clock.advance(1000);
    happensAt(at("brain1"), ended);
    clock.advance(1000);
    [received, ids] = [[], new Set()];
    happensAt(at("brain2"), changed);
    clock.advance(60_000);
    happensAt(at("brain2"), ended);
    clock.advance(60_000);
    expect(received).toEqual(["attack_changed by brain2", "attack_ended by brain2"]);
  });

  test("has one where what the other brain says of it is known already", () => {
    happens();
    happensAt(at("brain1"), changed);
    happensAt(at("brain1"), ended);
    clock.advance(1000);
    received = [];
    happensAt(at("brain2"), changed);
    happensAt(at("brain2"), ended);
    clock.advance(60_000);
    expect(received).toEqual([]);
  });
});

describe("the death of the first brain", () => {
  const kill = () => {
    at("brain1").isDead = true;
    brains.cut("brain1", "brain2");
  };

  test("before it sent: the other one sends 15 s later", () => {
    at("brain1").outcome = "unanswered";
    happens();
    clock.advance(5000);
    kill();
    clock.advance(LEASE_MS - 1000);
    expect(received).toEqual([]);
    clock.advance(2000);
    expect(received).toEqual(["attack_started by brain2"]);
  });

  test("after it sent: nothing is repeated", () => {
    happens();
    clock.advance(5000);
    kill();
    clock.advance(60_000);
    expect(received).toEqual(["attack_started by brain1"]);
    happens(attackEvent({ kind: "attack_ended" }));
    clock.advance(1000);
    expect(received).toEqual(["attack_started by brain1", "attack_ended by brain2"]);
    // The alert that the first one opened.
    expect([...knownTo]).toEqual(["brain1 brain2"]);
  });

  test("after it granted one: it is sent all the same", () => {
    happensAt(at("brain2"));
    clock.advance(3100);
    kill();
    clock.advance(60_000);
    expect(received).toEqual(["attack_started by brain2"]);
  });
});

test("the death of the other brain with what it was granted: the first one sends it, if it has it", () => {
  at("brain2").outcome = "unanswered";
  happensAt(at("brain2"));
  clock.advance(5000);
  happensAt(at("brain1"));
  clock.advance(5000);
  expect(received).toEqual([]);
  at("brain2").isDead = true;
  brains.cut("brain1", "brain2");
  clock.advance(LEASE_MS + 2000);
  expect(received).toEqual(["attack_started by brain1"]);
});

test("what the first brain cannot deliver, the other one does", () => {
  at("brain1").outcome = "refused";
  happens();
  clock.advance(1000);
  expect(received).toEqual(["attack_started by brain2"]);
});

test("what the first brain finds on its disk after a restart is sent by the one whose part it is", () => {
  happens();
  clock.advance(1000);
  const [id = ""] = ids;
  const found = { ...attackEvent(), id };
  const never = { ...found, id: id.replace(/^./, (digit) => (digit === "0" ? "1" : "0")) };
  for (const brain of both()) {
    const once = brain.notifications.once("hook");
    expect(once.maySend(found)).toBe(false);
    expect(once.maySend(never)).toBe(brain.name === "brain1");
  }
});

describe("a split", () => {
  beforeEach(() => {
    brains.cut("brain1", "brain2");
    clock.advance(LEASE_MS + 1000);
  });

  test("both brains send, with one id", () => {
    happens();
    clock.advance(60_000);
    expect(received).toEqual(["attack_started by brain1", "attack_started by brain2"]);
    expect(ids.size).toBe(1);
  });

  test("after it nothing is sent that the other one has sent", () => {
    at("brain2").outcome = "unanswered";
    happens();
    clock.advance(5000);
    at("brain2").outcome = "taken";
    brains.link("brain1", "brain2");
    clock.advance(60_000);
    expect(received).toEqual(["attack_started by brain1"]);
    happens(attackEvent({ kind: "attack_ended" }));
    clock.advance(60_000);
    expect(received).toEqual(["attack_started by brain1", "attack_ended by brain1"]);
  });
});

describe("the end of an attack that brains notified with several ids", () => {
  const addAtBoth = (kind: "attack_started" | "attack_ended", first: string, second: string) => {
    alerts = [];
    for (const [name, id] of Object.entries({ brain1: first, brain2: second }))
      at(name).notifications.add({ ...attackEvent({ kind }), attack: attack({ id }) }, ["hook", "on-call"]);
    clock.advance(5000);
  };
  const joins = (id: string, smaller: string) => {
    joined.set(id, smaller);
    at("brain2").notifications.renamed(joined);
    clock.advance(1000);
  };

  test.each([false, true])("closes the alert of each, also after a restart: %p", (isRestarted) => {
    brains.cut("brain1", "brain2");
    clock.advance(LEASE_MS + 1000);
    addAtBoth("attack_started", "w", "x");
    expect(alerts).toEqual(["attack_started w by brain1", "attack_started x by brain2"]);
    if (isRestarted) {
      brainsStartedAt = Number.MAX_SAFE_INTEGER;
      brains.restart("brain2");
      world["brain2"] = new TestBrain("brain2");
    }
    brains.link("brain1", "brain2");
    joins("x", "w");
    received = [];
    addAtBoth("attack_ended", "w", "x");
    expect(alerts.toSorted()).toEqual(["attack_ended w by brain1", "attack_ended x by brain2"]);
    // One of them for the target that keeps no alerts.
    expect(received).toHaveLength(3);
  });

  test("closes none where the ids were joined before it was notified", () => {
    joins("x", "w");
    addAtBoth("attack_started", "w", "x");
    addAtBoth("attack_ended", "w", "x");
    expect(alerts).toEqual(["attack_ended w by brain1"]);
  });
});

test("a brain that stops says what it could not deliver, and the other one sends it", () => {
  happens();
  at("brain1").outcome = "refused";
  at("brain1").notifications.flush();
  clock.advance(1000);
  expect(received).toEqual(["attack_started by brain2"]);
});
