/**
 * Notifies people and programs of attacks, bans, orders, BGP sessions, caps, exporters, nodes, faults and lost state, with a queue for each target. Its callers never wait: events are only put into the queues.
 */
import type { Tenant } from "../access/fair-queue.ts";
import type { Tenancy } from "../access/tenancy.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { RouteQuestion, RouteView } from "../http/wire/notify-route.ts";
import { type Ban, type BanChange, banChangeKind } from "../mitigation/ban.ts";
import { prefixUnderAttack } from "../mitigation/ban-subject.ts";
import type { Subject } from "../mitigation/maintenance/window.ts";
import { foundNone, NO_RULES_FOUND } from "../mitigation/measure.ts";
import { type NodeFaults, nodeFaultsText } from "../scrub/node-faults.ts";
import type { FileFault } from "../system/file-fault.ts";
import type { TenantTarget } from "../targets/tenant-target.ts";
import { AttackNotices, type AttackTurn } from "./attack-notices.ts";
import { CapNotices } from "./cap-notices.ts";
import { CONDITION_ENDS, conditionOf } from "./condition.ts";
import { type ConditionReading, ConditionWatch } from "./condition-watch.ts";
import type {
  AttackEvent,
  BanEvent,
  CapEvent,
  CapReached,
  ClusterEvent,
  ConditionEvent,
  Damage,
  ExporterEvent,
  FaultyExporter,
  FileEvent,
  Neighbor,
  NotifyEvent,
  OrderEvent,
  OwnerChangedEvent,
  ScrubNodeEvent,
  SessionEvent,
  StateEvent,
  TestEvent,
} from "./event.ts";
import type { NotifiedProblems } from "./notified-problems.ts";
import type { NotifyConfig } from "./notify-config.ts";
import { type OrderChange, OrderNotices, type OrderNoticesOptions } from "./order-notices.ts";
import { problemOf } from "./problem.ts";
import { type IsUnseen, RestoredFaults } from "./restored-faults.ts";
import { Routing } from "./routing.ts";
import { SessionNotices } from "./session-notices.ts";
import { worstSeverityOf } from "./severity.ts";
import { TargetQueues, type TargetQueuesOptions, type TargetState } from "./target-queues.ts";

export interface NotifierOptions extends TargetQueuesOptions {
  readonly config: NotifyConfig;
  /** By the configuration in force. */
  readonly tenancy: () => Pick<Tenancy, "ownerOf" | "tenantOf" | "groupOf">;
  /** Whether the service is in dry run. */
  readonly dryRun: () => boolean;
  /** Whether a maintenance window is open in which nothing is notified of such a target. Absent: none ever is. */
  readonly isQuiet?: (subject: Subject) => boolean;
  /** Active attacks of an earlier process, by id. Absent: there are none. */
  readonly restoredAttacks?: readonly string[];
  /** Problems that targets know of, also of an earlier process. Absent: none, and they are in memory alone. */
  readonly notified?: NotifiedProblems;
  /** Absent: all parts were seen. */
  readonly isUnseen?: IsUnseen;
  /** Orders that are gathered. Absent: they are in memory alone. */
  readonly gathered?: OrderNoticesOptions["gathered"];
  /** How long more than the threshold has been getting through what this machine drops, ms. Absent: it is not known. */
  readonly overThresholdMs?: (attack: Attack) => number;
}

/** An event without the common fields. */
type NewEvent =
  | Pick<AttackEvent, "kind" | "attack" | "ban" | "isNewKind">
  | Pick<BanEvent, "kind" | "ban">
  | Pick<SessionEvent, "kind" | "neighbor">
  | Pick<StateEvent, "kind" | "damage">
  | Pick<CapEvent, "kind" | "cap">
  | Pick<ExporterEvent, "kind" | "exporter">
  | Pick<ScrubNodeEvent, "kind" | "scrubNode">
  | Pick<FileEvent, "kind" | "file">
  | Pick<ClusterEvent, "kind" | "cluster">
  | Pick<ConditionEvent, "kind" | "condition">
  | Pick<OrderEvent, "kind" | "orders">
  | Pick<OwnerChangedEvent, "kind" | "left">
  | Pick<TestEvent, "kind" | "orderedBy">;

/** By the address that an event is about. */
type Owner = Pick<NotifyEvent, "tenant" | "group">;
const NO_OWNER: Owner = { tenant: null, group: null };

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #routing: Routing;
  readonly #attackNotices = new AttackNotices();
  /** Active attacks that began in a quiet window, and are not notified. */
  readonly #begunQuietly = new Set<string>();
  /** Active attacks of an earlier process, which was killed before their begin was decided. */
  readonly #notNotified: Set<string>;
  readonly #capNotices = new CapNotices();
  readonly #conditions = new ConditionWatch();
  readonly #orderNotices: OrderNotices;
  readonly #sessionNotices: SessionNotices;
  readonly #restoredFaults: RestoredFaults;
  readonly #queues: TargetQueues;
  #config: NotifyConfig;
  #isRunning = false;

  constructor(options: NotifierOptions) {
    const { config, timers, notified, gathered, restoredAttacks = [] } = options;
    const begins = [...(notified?.begins() ?? [])];
    this.#options = options;
    this.#config = config;
    this.#routing = new Routing(config, notified);
    this.#routing.reconfigure(config, options.own?.inForce());
    const groupMsOf = (event: NotifyEvent, target: string) => this.#routing.groupMsOf(event, target);
    this.#queues = new TargetQueues({ ...options, groupMsOf });
    this.#restoredFaults = new RestoredFaults(begins, options.isUnseen);
    this.#notNotified = new Set(restoredAttacks.filter((id) => !this.#routing.isDecided(`attack ${id}`)));
    this.#sessionNotices = new SessionNotices({
      timers,
      notify: (kind, neighbor) => this.#enqueue({ kind, neighbor }),
    });
    this.#orderNotices = new OrderNotices({
      ...{ timers, ...(gathered && { gathered }) },
      notify: (turn, orders, owner) => this.#enqueue({ kind: `order_${turn}`, orders }, owner),
    });
    for (const event of begins) {
      if ("condition" in event)
        this.#conditions.restore(conditionOf(event.kind), event.condition, this.#isKnown(event));
      else if (event.kind === "bgp_session_lost") this.#sessionNotices.restore(event.neighbor);
    }
  }

  /** Before start(), no notification is sent. */
  start(): void {
    this.#isRunning = true;
    this.#queues.open(this.#config);
    this.#options.sharing?.start((event, target) => this.#queues.send(event, target), this.#queues.keepsAlerts);
    this.#orderNotices.restore();
  }

  /** A tenant changed one of its targets. @param target null: it is not in force any more. */
  ownChanged(id: string, target: TenantTarget | null): void {
    this.#routing.ownChanged(id, target);
    if (this.#isRunning) this.#queues.ownChanged(id, target);
  }

  /** Targets that stay keep their waiting events; those of removed targets are discarded. */
  reconfigure(config: NotifyConfig): void {
    this.#config = config;
    this.#routing.reconfigure(config, this.#options.own?.inForce());
    if (this.#isRunning) this.#queues.open(config);
  }

  /** Also called for each tick that an attack lasts. `ban`: the attack's current or last ban. */
  attackChanged(turn: AttackTurn, attack: Attack, ban: Ban | null): void {
    if (!this.#isRunning) return;
    const isQuiet = this.#options.isQuiet?.({ prefix: prefixUnderAttack(attack), group: attack.group }) === true;
    const isHeldBack = this.#begunQuietly.has(attack.id);
    const isNew = turn === "started" || isHeldBack || this.#notNotified.delete(attack.id);
    if ((isNew && isQuiet) || (isHeldBack && turn === "ended")) {
      if (turn === "ended") this.#begunQuietly.delete(attack.id);
      else this.#begunQuietly.add(attack.id);
      return;
    }
    // An attack that outlasts a quiet window is notified when the window closes.
    this.#begunQuietly.delete(attack.id);
    const kinds = this.#attackNotices.take(turn, attack, this.#options.clock.monotonicMs(), isNew);
    // Begins that waited for the kind, and ends, are of what was notified before the window.
    if (isQuiet && turn !== "ended" && !kinds.includes("attack_started")) return;
    const owner = { tenant: this.#options.tenancy().ownerOf(attack), group: attack.group };
    for (const kind of kinds) this.#enqueue({ kind, attack, ban, isNewKind: turn === "classified" }, owner);
    if (turn !== "lasts") return;
    const overMs = ban?.state === "active" && !ban.dryRun ? (this.#options.overThresholdMs?.(attack) ?? 0) : 0;
    if (this.#attackNotices.isNotHeld(attack, overMs, this.#options.clock.monotonicMs()))
      this.#enqueue({ kind: "attack_not_held", attack, ban, isNewKind: false }, owner);
    if (kinds.length > 0) return;
    const lasts = this.#eventOf({ kind: "attack_lasts", attack, ban, isNewKind: false }, owner);
    this.#queues.add(lasts, this.#routing.dueFor(lasts));
  }

  /**
   * Called after any change. Changes of the mitigation of an attack may be frequent, and are part of the attack's
   * notifications.
   */
  banChanged(change: BanChange): void {
    const kind = banChangeKind(change);
    const { ban } = change;
    const hasLostRules = isWithoutRules(ban) && (change.previous === null || !isWithoutRules(change.previous));
    if ((kind === null || kind === "changed") && !hasLostRules) return;
    const tenancy = this.#options.tenancy();
    const owner = { tenant: tenancy.tenantOf(ban.target), group: tenancy.groupOf(ban.target) };
    const event = { kind: `ban_${ban.state}`, ban } as const;
    const isQuiet = this.#options.isQuiet?.({ prefix: ban.prefix, group: owner.group ?? "" }) === true;
    if (isQuiet && !(ban.state === "withdrawn" && this.#routing.hasNotified(`ban ${ban.id}`))) return;
    if (kind !== null && kind !== "changed") this.#enqueue(event, owner);
    if (hasLostRules) this.#enqueue({ kind: "rules_not_found", ban }, owner);
  }

  /** For standing orders and bans by hand. */
  ordersChanged(changes: readonly OrderChange[]): void {
    if (this.#isRunning && this.#queues.size > 0) this.#orderNotices.take(changes);
  }

  /** The state of all parts that are watched. Call this once a second. */
  conditionsRead(readings: Iterable<ConditionReading>): void {
    if (!this.#isRunning) return;
    for (const { kind, name, found, isOver } of this.#conditions.take(readings, this.#options.clock.monotonicMs()))
      this.#enqueue({ kind: isOver ? CONDITION_ENDS[kind] : kind, condition: { name, found } });
    for (const end of this.#restoredFaults.over(this.#options.clock.monotonicMs())) this.#enqueue(end);
    const wallMs = this.#options.clock.wallMs();
    for (const { event, targets } of [...this.#routing.afterQuiet(wallMs), ...this.#routing.renewals(wallMs)])
      this.#queues.add({ ...event, id: this.#options.newId() }, targets);
  }

  /** All configured neighbors, after any change of a session. */
  bgpSessions(neighbors: readonly Neighbor[]): void {
    if (this.#isRunning) this.#sessionNotices.take(neighbors);
  }

  /** All caps, with what was refused and replaced since the start of the service. Call this once a second. */
  capsRead(readings: readonly CapReached[]): void {
    if (!this.#isRunning) return;
    const reached = this.#capNotices.take(readings, this.#options.clock.monotonicMs());
    for (const cap of reached) this.#enqueue({ kind: "cap_reached", cap });
  }

  exporterChanged(kind: ExporterEvent["kind"], exporter: FaultyExporter): void {
    this.#enqueue({ kind, exporter });
  }

  /** @param faults null: they are over. */
  scrubNodeChanged(name: string, faults: NodeFaults | null): void {
    const found = faults === null ? "" : nodeFaultsText(faults);
    this.#enqueue({ kind: faults === null ? "scrub_node_fault_over" : "scrub_node_fault", scrubNode: { name, found } });
  }

  /** @param fault of a file. */
  fileChanged(kind: FileEvent["kind"], { key, error, effect }: FileFault): void {
    const isOver = kind === "file_fault_over";
    this.#enqueue({ kind, file: { key, error: isOver ? "" : error, effect: isOver ? "" : effect } });
  }

  clusterChanged = (event: Pick<ClusterEvent, "kind" | "cluster">): void => this.#enqueue(event);

  /** Call this after start(). */
  stateDamaged(damage: Damage): void {
    this.#enqueue({ kind: "state_damaged", damage });
  }

  /** To one target, past the routes. Returns whether there is such a target. A tenant sees no name of another. */
  test(target: string, by: { readonly operator: string; readonly tenant: Tenant }): boolean {
    const tenant = this.#queues.tenantOf(target);
    if (tenant === undefined) return false;
    const isShown = tenant === null || tenant === by.tenant;
    const orderedBy = (isShown && by.operator) || "an operator";
    this.#queues.add(this.#eventOf({ kind: "test", orderedBy }, { tenant, group: null }), [target]);
    return true;
  }

  /** Where an event would go. */
  route(question: RouteQuestion): RouteView {
    return this.#routing.explained({ ...question, severity: question.severity ?? worstSeverityOf(question.kind) });
  }

  list(): readonly TargetState[] {
    return this.#queues.list();
  }

  /** Delivers what it can within STOP_STEP_MS. */
  async stop(): Promise<void> {
    this.#orderNotices.stop();
    this.#isRunning = false;
    this.#sessionNotices.stop();
    this.#options.sharing?.flush();
    await this.#queues.stop();
  }

  #enqueue(event: NewEvent, owner = NO_OWNER): void {
    if (!this.#isRunning || this.#queues.size === 0) return;
    const full = this.#eventOf(event, owner);
    if (this.#restoredFaults.isKnown(full) && this.#isKnown(full)) return;
    this.#leave(full);
    this.#queues.add(full, this.#routing.targetsOf(full));
  }

  /** Whether a target that there is knows of its problem. */
  #isKnown(event: NotifyEvent): boolean {
    const problem = problemOf(event);
    return problem !== null && this.#routing.isKnown(problem.key);
  }

  /** A reload gave an attack or a ban to another tenant: the targets of the one before get its end, and nothing of it. */
  #leave(event: NotifyEvent): void {
    const left = this.#routing.leave(event);
    if (left === null) return;
    const { targets, tenant, problem } = left;
    this.#queues.add(this.#eventOf({ kind: "owner_changed", left: problem }, { tenant, group: null }), targets);
  }

  #eventOf(event: NewEvent, owner: Owner): NotifyEvent {
    const { newId, clock, dryRun } = this.#options;
    return { id: newId(), atMs: clock.wallMs(), dryRun: dryRun(), ...owner, ...event };
  }
}

/** An active ban for which rules were searched and none was found, whether something is done in their place or not. */
function isWithoutRules({ state, measure, fallback }: Ban): boolean {
  const hasNone = measure.kind === "flowspec" && foundNone(measure);
  return state === "active" && (hasNone || fallback === NO_RULES_FOUND);
}
