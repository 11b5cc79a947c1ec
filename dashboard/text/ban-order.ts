/** A ban with terms of its own: from the fields of its dialog to the order, and what its preview says. Pure. */
import type { OrderPreviewWire } from "../../src/http/wire/ban-preview.ts";
import { packetRate, percent } from "./format/numbers.ts";
import { counted } from "./format/words.ts";

export interface BanForm {
  /** "": as the hostgroup says. */
  readonly method: (typeof BAN_METHODS)[number][0];
  /** Seconds; "": as the hostgroup says. */
  readonly seconds: string;
  readonly protocol: string;
  readonly ports: string;
  readonly sourcePorts: string;
  readonly source: string;
  readonly mbps: string;
  readonly neighbors: string;
  readonly dryRun: "" | "yes";
}

export const BAN_METHODS = [
  ["", "As the hostgroup says"],
  ["blackhole", "Blackhole"],
  ["flowspec", "FlowSpec"],
  ["divert", "Divert"],
  ["scrub", "Scrub"],
] as const;

export const BAN_TIMES = [
  ["", "As the hostgroup says"],
  ["900", "15 minutes"],
  ["3600", "1 hour"],
  ["14400", "4 hours"],
  ["86400", "1 day"],
] as const;

export const EMPTY_BAN: BanForm = {
  method: "",
  seconds: "",
  protocol: "",
  ports: "",
  sourcePorts: "",
  source: "",
  mbps: "",
  neighbors: "",
  dryRun: "",
};

const words = (text: string) => text.split(/[\s,]+/).filter((word) => word !== "");

/** The body of the order; without fields of its own it is that of a plain ban. */
export function banOrder(target: string, form: BanForm): Record<string, unknown> {
  const { method, seconds, protocol, source, mbps, neighbors, dryRun } = form;
  const rule = {
    ...(protocol !== "" && { protocol }),
    ...(words(form.ports).length > 0 && { ports: words(form.ports) }),
    ...(words(form.sourcePorts).length > 0 && { source_ports: words(form.sourcePorts) }),
    ...(source.trim() !== "" && { source: source.trim() }),
  };
  return {
    ...(target.includes("/") ? { prefix: target } : { ip: target }),
    ...(method !== "" && { method }),
    ...(seconds !== "" && { ttl_seconds: Number(seconds) }),
    ...(Object.keys(rule).length > 0 && { rules: [rule] }),
    ...(mbps.trim() !== "" && { rate_mbps: Number(mbps) }),
    ...(words(neighbors).length > 0 && { neighbors: words(neighbors) }),
    ...(dryRun === "yes" && { dry_run: true }),
  };
}

/** Above this share of the traffic that is in no attack, the target must be typed again. */
const COLLATERAL_SHARE_MAX = 0.1;

export function needsTarget({ ban, effect }: OrderPreviewWire): boolean {
  if (ban.state === "rejected" || ban.dry_run || !effect.available) return false;
  return effect.collateral_share > COLLATERAL_SHARE_MAX;
}

export function targetAgainText(target: string): string {
  return `It hits more than ${percent(COLLATERAL_SHARE_MAX)} of what is in no attack. Type “${target}” again to go on.`;
}

const NEIGHBORS_SHOWN = 8;

export function orderSentences({ ban, effect, neighbors = [] }: OrderPreviewWire): string[] {
  if (ban.state === "rejected") {
    const remedy = ban.remedy === undefined ? "" : `: ${ban.remedy}`;
    return [`Floodwall would refuse it: ${ban.reason ?? "it does not say why"}${remedy}.`];
  }
  const shown = neighbors.slice(0, NEIGHBORS_SHOWN);
  return [
    `It would be: ${ban.route}.`,
    effect.available
      ? `Of the last minute it would have hit ${packetRate(effect.dropped.pps)}, ${percent(effect.packets_share)} of all packets, to ${counted(effect.hosts, "host")}; ${percent(effect.unattacked_share)} of it in no attack.`
      : `What it would hit is not known: ${effect.reason}.`,
    ...shown.map(({ neighbor, name = neighbor, routes, cause }) => {
      const got = routes.length === 0 ? "nothing" : counted(routes.length, "route");
      return `${name} gets ${got}${cause === undefined ? "" : `: ${cause}`}.`;
    }),
    ...(neighbors.length > shown.length ? [`And ${neighbors.length - shown.length} more neighbors.`] : []),
  ];
}
