/** Incidents in words: what each is, its size, and what people said of it. Pure. */
import type { IncidentRowWire, IncidentWire } from "../../src/http/wire/incident.ts";
import { formFor, t } from "../language.ts";
import { percent, wholeNumber } from "./format/numbers.ts";
import { vectorName } from "./format/vectors.ts";
import { counted } from "./format/words.ts";
import { SEVERITIES } from "./interface-words.ts";
import { customerText } from "./mitigation.ts";

type Verdict = NonNullable<IncidentRowWire["classification"]>["is"];
type Deed = NonNullable<IncidentRowWire["owner"]>;
export type IncidentNoteWire = IncidentWire["notes"][number];
export type MemberWire = IncidentWire["members"][number];

/** From this number of attacks on, the overview has incidents in their place. */
export const INCIDENTS_FROM = 11;

export const VERDICTS: Readonly<Record<Verdict, string>> = {
  real: t`Real attack`,
  expected: t`Expected traffic`,
  false_alarm: t`False alarm`,
};

export const STATE_WORDS = {
  active: { tone: "danger", text: t`active` },
  quiet: { tone: "warn", text: t`quiet` },
  closed: { tone: "none", text: t`closed` },
} as const satisfies Readonly<Record<IncidentRowWire["state"], object>>;

export const SEVERITY_TONES = {
  low: "none",
  medium: "info",
  high: "warn",
  critical: "danger",
} as const satisfies Readonly<Record<NonNullable<IncidentRowWire["severity"]>, string>>;

export function incidentPath(id: string): string {
  return `/api/v1/incidents/${encodeURIComponent(id)}`;
}

/** `UDP flood`, `UDP flood, outgoing`. */
export function kindText({ kind, direction }: IncidentRowWire): string {
  const name = kind === undefined ? t`Kind not known` : vectorName(kind);
  return direction === "outgoing" ? t`${name}, outgoing` : name;
}

/** `UDP flood on acme, web`. */
export function incidentTitle(incident: IncidentRowWire): string {
  return t`${kindText(incident)} on ${customerText(incident)}`;
}

/** `1 000 victims in 4 networks`; a hostgroup that is attacked as a whole has no address. */
export function victimsText({
  victims,
  victims_at_least: isMore,
  prefixes,
  prefix_count: count,
}: IncidentRowWire): string {
  if (victims === 0) return t`the hostgroup as a whole`;
  const [only] = prefixes;
  const where = count === 1 && only !== undefined ? only.prefix : counted(count, "network");
  const number = `${wholeNumber(victims)} ${formFor(victims, "victim|victims")}`;
  return `${isMore === true ? t`at least ` : ""}${number} (${where})`;
}

/** `3 of 1 000 active`. */
export function attacksText({ attacks, active_attacks: active }: IncidentRowWire): string {
  if (active === 0) return attacks === 1 ? t`1, over` : t`${wholeNumber(attacks)}, all over`;
  return active === attacks ? wholeNumber(attacks) : t`${wholeNumber(active)} of ${wholeNumber(attacks)} active`;
}

/** `≈ ` before sums, and shares of them, of which a part is estimated from samples. */
export function sumMark({ attacks_estimated: estimated }: IncidentRowWire): string {
  return estimated === undefined ? "" : "≈ ";
}

/** The stopped share of its packets; undefined: not known. */
export function stoppedOf({ packets, dropped_packets: dropped }: IncidentRowWire): number | undefined {
  return packets === undefined || dropped === undefined || packets === 0 ? undefined : Math.min(1, dropped / packets);
}

export function severityText({ severity, link_share: share }: IncidentRowWire): string | undefined {
  if (severity === undefined) return undefined;
  const word = SEVERITIES[severity];
  return share === undefined ? word : t`${word}, peak ${percent(share)} of the link`;
}

/** `noc`, `an operator`, `a tenant`, `no sign-in`. */
export function byText({ by, of }: Deed, isTenantReader: boolean): string {
  if (by !== undefined) return by;
  if (isTenantReader) return of === "operator" ? t`an operator` : t`your tenant`;
  return of === "operator" ? t`no sign-in` : t`a tenant`;
}

export function verdictText({ classification }: IncidentRowWire): string | undefined {
  return classification === undefined ? undefined : VERDICTS[classification.is];
}

/** The notes for the next shift that are not acknowledged. */
export function openHandovers({ notes }: IncidentWire): IncidentNoteWire[] {
  return notes.filter(({ handover, acknowledged }) => handover && acknowledged === undefined);
}

/** By which a search finds it. */
export function incidentText(incident: IncidentRowWire): string {
  const { prefixes, owner } = incident;
  const networks = prefixes.map(({ prefix }) => prefix).join(" ");
  return `${incidentTitle(incident)} ${networks} ${owner?.by ?? ""} ${verdictText(incident) ?? ""} ${incident.state}`;
}

/** Active ones first, then the largest by the most recent. */
export function byWeight(a: IncidentRowWire, b: IncidentRowWire): number {
  return b.active_attacks - a.active_attacks || (a.id < b.id ? 1 : -1);
}
