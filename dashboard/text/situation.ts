/**
 * The situation in short statements: whether decisions are carried out, the attacks and how many of them nothing stops,
 * the BGP neighbors, the loss of the capture, and exporters with faults. Pure.
 */
import type { AttacksWire, AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import type { StatusWire, TenantStatusWire } from "../../src/http/wire/status.ts";
import type { Loaded } from "../api/resource.ts";
import { t } from "../language.ts";
import { isSessionUp } from "./bgp-session.ts";
import { percent } from "./format/numbers.ts";
import { counted } from "./format/words.ts";
import { banOf } from "./mitigation.ts";
import { standingOf, worstOf } from "./standing.ts";

export interface SituationPart {
  readonly name: "mode" | "attacks" | "bgp" | "capture" | "telemetry" | "cluster";
  readonly tone: "ok" | "warn" | "danger" | "info";
  readonly text: string;
}

/** A loss above this share is a fault. */
export const LOSS_TOLERATED = 0.001;

export interface Situation {
  readonly status: Loaded<StatusWire | TenantStatusWire>;
  readonly attacks: Loaded<AttacksWire>;
  readonly bans: readonly BanWire[];
  /** The highest share of lost packets of an interface; null: only one reading so far. */
  readonly loss: number | null;
  /** Since when the service has not answered: all that is known is from then. null: it answers. */
  readonly silent: { readonly since: string } | null;
}

export function situationParts({ status, attacks, bans, loss, silent }: Situation): SituationPart[] {
  if (silent !== null) return [{ name: "mode", tone: "danger", text: t`Not known: no answer since ${silent.since}` }];
  const parts = [attacks.kind === "ready" ? attacksPart(attacks.data.active, bans) : unknown("attacks", t`Attacks`)];
  if (status.kind !== "ready") return [unknown("mode", t`Mode`), ...parts];
  const { data } = status;
  const mode = modePart(data);
  // A token with a tenant sees neither the neighbors nor the capture.
  if (!("capture" in data)) return [mode, ...parts];
  const all = [mode, ...parts, bgpPart(data.bgp), capturePart(data.capture, loss)];
  if (data.telemetry !== undefined) all.push(telemetryPart(data.telemetry));
  if (data.cluster !== undefined) all.push(clusterPart(data.cluster));
  return all;
}

const GROUPS_NAMED = 3;

function modePart({ dry_run: isDry, hostgroups }: StatusWire | TenantStatusWire): SituationPart {
  if (isDry) return { name: "mode", tone: "warn", text: t`DRY RUN: nothing is announced or dropped` };
  const dry = hostgroups.filter(({ dry_run_directions: directions = [] }) => directions.length > 0);
  if (dry.length === 0) return { name: "mode", tone: "ok", text: t`LIVE` };
  const named = dry.slice(0, GROUPS_NAMED).map(({ name }) => name);
  const names = [...named, ...(dry.length > named.length ? ["…"] : [])].join(", ");
  return { name: "mode", tone: "warn", text: t`LIVE, but in dry run: ${names}` };
}

function attacksPart(active: readonly AttackWire[], bans: readonly BanWire[]): SituationPart {
  if (active.length === 0) return { name: "attacks", tone: "ok", text: t`No attack` };
  const all = active.map((attack) => {
    const ban = banOf(attack, bans);
    return { ...standingOf(attack, ban), isUnknown: isUnknown(ban) };
  });
  const [standings, unknown] = [all.filter((one) => !one.isUnknown), all.filter((one) => one.isUnknown)];
  const worst = worstOf([...standings, ...unknown]);
  // An attack in progress is never without a mark, however well it is stopped.
  const tone = worst.tone === "danger" ? "danger" : "warn";
  const number = counted(active.length, "attack");
  if (active.length === 1) return { name: "attacks", tone, text: `${number}: ${worst.text}` };
  const alike = standings.filter((standing) => standing.tone === worst.tone).length;
  const parts = { danger: t`, ${alike} not stopped`, warn: t`, ${alike} stopped in part`, info: "", ok: "" };
  const known = alike === 0 ? "" : parts[worst.tone];
  const part = unknown.length === 0 ? known : known + t`, ${unknown.length} not known`;
  return { name: "attacks", tone, text: t`${number}${part}, worst: ${worst.text}` };
}

/** A speaker that does not answer does not say whether routers filter. */
function isUnknown(ban: BanWire | undefined): boolean {
  return ban?.state === "active" && !ban.dry_run && ban.announcement === "speaker_down" && ban.node_idle !== true;
}

function bgpPart(bgp: StatusWire["bgp"]): SituationPart {
  if (bgp === undefined) return { name: "bgp", tone: "info", text: t`BGP not configured` };
  if (!bgp.connected) return { name: "bgp", tone: "danger", text: t`BGP speaker does not answer` };
  const { length: all } = bgp.neighbors;
  const up = bgp.neighbors.filter(({ state }) => isSessionUp(state)).length;
  if (all === 0) return { name: "bgp", tone: "warn", text: t`No BGP neighbor` };
  return { name: "bgp", tone: up === all ? "ok" : "danger", text: t`BGP: ${up} of ${counted(all, "neighbor")} up` };
}

function capturePart({ interfaces }: StatusWire["capture"], loss: number | null): SituationPart {
  const { length: all } = interfaces;
  const failed = interfaces.filter(({ state }) => state === "failed").length;
  const running = interfaces.filter(({ state }) => state === "running").length;
  if (all === 0) return { name: "capture", tone: "info", text: t`Nothing is captured` };
  if (failed > 0)
    return { name: "capture", tone: "danger", text: t`Capture: ${failed} of ${counted(all, "interface")} failed` };
  if (running === 0) return { name: "capture", tone: "warn", text: t`Capture has ended` };
  if (loss === null) return { name: "capture", tone: "info", text: t`Capture loss: measuring` };
  if (loss > LOSS_TOLERATED) return { name: "capture", tone: "danger", text: t`Capture loss ${percent(loss)}` };
  const opaque = interfaces.find(({ warning }) => warning !== undefined);
  if (opaque !== undefined)
    return { name: "capture", tone: "warn", text: t`Capture: mostly tunnels on ${opaque.name}` };
  return { name: "capture", tone: "ok", text: t`Capture loss ${percent(loss)}` };
}

function telemetryPart({ exporters, faulty }: NonNullable<StatusWire["telemetry"]>): SituationPart {
  if (faulty === 0) return { name: "telemetry", tone: "ok", text: counted(exporters, "exporter") };
  return { name: "telemetry", tone: "danger", text: t`${faulty} of ${counted(exporters, "exporter")} with a fault` };
}

function clusterPart({ brains, up, faults }: NonNullable<StatusWire["cluster"]>): SituationPart {
  const text = t`${up} of ${counted(brains, "other brain")} reached`;
  return { name: "cluster", tone: up < brains ? "danger" : faults > 0 ? "warn" : "ok", text };
}

function unknown(name: SituationPart["name"], what: string): SituationPart {
  return { name, tone: "info", text: t`${what} not known yet` };
}
