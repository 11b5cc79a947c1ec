/** A ban with terms of its own: from the fields of its dialog to the order, and what must be confirmed. Pure. */
import type { OrderPreviewWire } from "../../src/http/wire/ban-preview.ts";
import { t } from "../language.ts";
import { percent } from "./format/numbers.ts";

export interface BanForm {
  /** "": as the hostgroup says. */
  readonly method: (typeof BAN_METHODS)[number][0];
  /** Seconds; "": as the hostgroup says. */
  readonly seconds: string;
  readonly protocol: string;
  readonly ports: string;
  readonly sourcePorts: string;
  /** `syn, !ack`: set, and not set. */
  readonly flags: string;
  readonly fragment: "" | "yes" | "no";
  readonly lengths: string;
  readonly source: string;
  /** "": none. */
  readonly template: string;
  readonly mbps: string;
  readonly neighbors: string;
  readonly communities: string;
  readonly dryRun: "" | "yes";
}

export const BAN_METHODS = [
  ["", t`As the hostgroup says`],
  ["blackhole", t`Blackhole`],
  ["flowspec", t`FlowSpec`],
  ["divert", t`Divert`],
  ["scrub", t`Scrub`],
] as const;

export const BAN_TIMES = [
  ["", t`As the hostgroup says`],
  ["900", t`15 minutes`],
  ["3600", t`1 hour`],
  ["14400", t`4 hours`],
  ["86400", t`1 day`],
] as const;

export const EMPTY_BAN: BanForm = {
  method: "",
  seconds: "",
  protocol: "",
  ports: "",
  sourcePorts: "",
  flags: "",
  fragment: "",
  lengths: "",
  source: "",
  template: "",
  mbps: "",
  neighbors: "",
  communities: "",
  dryRun: "",
};

const words = (text: string) => text.split(/[\s,]+/).filter((word) => word !== "");

/** The body of the order; without fields of its own it is that of a plain ban. */
export function banOrder(target: string, form: BanForm): Record<string, unknown> {
  const { method, seconds, protocol, fragment, source, template, mbps, neighbors, communities, dryRun } = form;
  const flags = flagsOf(form.flags);
  const rule = {
    ...(protocol !== "" && { protocol }),
    ...(words(form.ports).length > 0 && { ports: words(form.ports) }),
    ...(words(form.sourcePorts).length > 0 && { source_ports: words(form.sourcePorts) }),
    ...(flags !== null && { tcp_flags: flags }),
    ...(fragment !== "" && { fragment: fragment === "yes" }),
    ...(words(form.lengths).length > 0 && { packet_lengths: words(form.lengths) }),
    ...(source.trim() !== "" && { source: source.trim() }),
  };
  return {
    ...(target.includes("/") ? { prefix: target } : { ip: target }),
    ...(template.trim() !== "" && { template: template.trim() }),
    ...(method !== "" && { method }),
    ...(seconds !== "" && { ttl_seconds: Number(seconds) }),
    ...(Object.keys(rule).length > 0 && { rules: [rule] }),
    ...(mbps.trim() !== "" && { rate_mbps: Number(mbps) }),
    ...(words(neighbors).length > 0 && { neighbors: words(neighbors) }),
    ...(words(communities).length > 0 && { communities: words(communities) }),
    ...(dryRun === "yes" && { dry_run: true }),
  };
}

/** null: none are given. */
function flagsOf(text: string): Record<string, readonly string[]> | null {
  const all = words(text.toLowerCase());
  const unset = all.filter((word) => word.startsWith("!")).map((word) => word.slice(1));
  const set = all.filter((word) => !word.startsWith("!"));
  if (all.length === 0) return null;
  return { ...(set.length > 0 && { set }), ...(unset.length > 0 && { unset }) };
}

/** Above this share of the traffic that is in no attack, the target must be typed again. */
const COLLATERAL_SHARE_MAX = 0.1;

export function needsTarget({ ban, effect }: OrderPreviewWire): boolean {
  if (ban.state === "rejected" || ban.dry_run || !effect.available) return false;
  return effect.collateral_share > COLLATERAL_SHARE_MAX;
}

export function targetAgainText(target: string): string {
  return t`It hits more than ${percent(COLLATERAL_SHARE_MAX)} of what is in no attack. Type “${target}” again to go on.`;
}

/** @param why the preview failed, a sentence. */
export function unseenText(why: string): string {
  return t`Nothing is ordered: it is not known what the ban would hit. Order it again to ban all the same. ${why}`;
}
