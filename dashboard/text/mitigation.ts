/** What is being done about an attack, and whether it works, in one short line. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { byteCount, scaled } from "./format/numbers.ts";
import { methodName } from "./format/words.ts";

export interface Effect {
  readonly tone: "ok" | "warn" | "danger" | "info";
  /** `Blackhole announced`. */
  readonly title: string;
  /** The reason, or what to do; null: nothing to add. */
  readonly detail: string | null;
}

/** An address, a part of a hostgroup, or a whole hostgroup. */
export function attackSubject({ target, prefix, group }: AttackWire): string {
  return target ?? prefix ?? `hostgroup ${group}`;
}

/** The ban of the attack: the active one, else the last one. undefined: there is none. */
export function banOf({ target, prefix }: AttackWire, bans: readonly BanWire[]): BanWire | undefined {
  const index = indexOf(bans);
  return target === undefined ? index.get(`prefix ${prefix}`) : index.get(`target ${target}`);
}

/** Indexes the list once, not for each attack. */
const INDEXES = new WeakMap<readonly BanWire[], ReadonlyMap<string, BanWire>>();

function indexOf(bans: readonly BanWire[]): ReadonlyMap<string, BanWire> {
  const known = INDEXES.get(bans);
  if (known !== undefined) return known;
  const index = new Map<string, BanWire>();
  for (const ban of bans) {
    for (const key of [`target ${ban.target}`, `prefix ${ban.prefix}`]) {
      const other = index.get(key);
      if (other === undefined || goesBefore(ban, other)) index.set(key, ban);
    }
  }
  INDEXES.set(bans, index);
  return index;
}

export function effectOf(attack: AttackWire, ban: BanWire | undefined): Effect {
  const method = methodName(attack.method ?? ban?.method ?? "none");
  switch (attack.ban_state) {
    case undefined:
      return withoutBan(attack);
    case "rejected":
      return { tone: "danger", title: "Not banned", detail: refusalText(ban?.reason) };
    case "withdrawn":
      return { tone: "warn", title: "Ban ended", detail: ban?.reason ?? null };
    case "active":
      return attack.dry_run ? dryRun(method) : inForce(method, ban);
    default:
      return attack.ban_state satisfies never;
  }
}

/** `1.20 M packets (840 MB) dropped here`; null: not known. */
export function droppedText({ dropped_packets: packets, dropped_bytes: bytes }: BanWire): string | null {
  return packets === undefined ? null : `${scaled(packets)} packets (${byteCount(bytes ?? 0)}) dropped here`;
}

const REMEDIES: Readonly<Record<string, string>> = {
  whitelisted: "it is in protected_whitelist",
  "max_active_bans reached": "lift others, or raise ban.max_active_bans",
  "max_banned_fraction reached": "lift others, or raise ban.max_banned_fraction",
};

function refusalText(reason: string | undefined): string | null {
  if (reason === undefined) return null;
  return reason in REMEDIES ? `${reason}: ${REMEDIES[reason]}` : reason;
}

function withoutBan({ scope, prefix }: AttackWire): Effect {
  const isWhole = scope === "group" && prefix === undefined;
  if (isWhole)
    return { tone: "info", title: "Watched only", detail: "Hostgroups that are judged as a whole are never banned." };
  return {
    tone: "warn",
    title: "Nothing is done",
    detail: "The attack has no ban: its hostgroup has none, or it was lifted.",
  };
}

function dryRun(method: string): Effect {
  return { tone: "warn", title: `Dry run: ${method}`, detail: "Nothing is announced, nothing dropped." };
}

function inForce(method: string, ban: BanWire | undefined): Effect {
  if (ban === undefined) return { tone: "ok", title: method, detail: null };
  const dropped = droppedText(ban);
  if (ban.announce_error !== undefined) {
    return { tone: "danger", title: `${method} not announced`, detail: ban.announce_error };
  }
  if (ban.announced === true) return { tone: "ok", title: `${method} announced`, detail: dropped };
  if ((ban.dropped_packets ?? 0) > 0) return { tone: "ok", title: method, detail: dropped };
  return {
    tone: "warn",
    title: `${method} not announced`,
    detail: "No BGP neighbor has the route: see the BGP sessions.",
  };
}

function goesBefore(a: BanWire, b: BanWire): boolean {
  const [isActive, isOtherActive] = [a.state === "active", b.state === "active"];
  return isActive === isOtherActive ? a.started_at > b.started_at : isActive;
}
