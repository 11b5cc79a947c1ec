/** Exporters of flow telemetry in words. Pure. */
import type { ExporterWire, TelemetryWire } from "../../src/http/wire/telemetry.ts";
import { t } from "../language.ts";
import { scaled, wholeNumber } from "./format/numbers.ts";
import { duration } from "./format/times.ts";
import type { StateWord } from "./nodes.ts";

type State = ExporterWire["state"];

const WORDS: Readonly<Record<State, StateWord>> = {
  ok: { tone: "ok", text: t`ok` },
  standby: { tone: "info", text: t`standby` },
  waiting: { tone: "info", text: t`no data yet` },
  silent: { tone: "danger", text: t`silent` },
  undecodable: { tone: "danger", text: t`not understood` },
  unknown_sampling: { tone: "danger", text: t`sampling not known` },
  lying: { tone: "danger", text: t`cannot be true` },
  losing: { tone: "warn", text: t`records lost` },
  no_records: { tone: "warn", text: t`no records` },
  untracked: { tone: "warn", text: t`too many flows` },
  times_off: { tone: "warn", text: t`times are off` },
  left_out: { tone: "warn", text: t`mostly ignored` },
  clock_skewed: { tone: "warn", text: t`clock is off` },
};
/** The worst first. */
const ORDER = Object.keys(WORDS) as State[];

const PROTOCOLS: Readonly<Record<string, string>> = {
  sflow5: t`sFlow 5`,
  netflow5: t`NetFlow 5`,
  netflow9: t`NetFlow 9`,
  ipfix: "IPFIX",
};

const ORIGINS: Readonly<Record<string, string>> = {
  header: t`datagrams`,
  options: t`options`,
  record: t`records`,
  sample: t`samples`,
  configured: t`configured`,
};

/** An older reading is not the state now, seconds. */
export const STALE_SECONDS = 30;

export function exporterWord(state: State): StateWord {
  return WORDS[state];
}

/** Faults first, the worst of them before all. */
export function exporterOrder({ state }: ExporterWire): number {
  const at = ORDER.indexOf(state);
  return at < 3 ? 100 + at : at;
}

export function exporterName({ name, address }: ExporterWire): string {
  return name ?? address;
}

export function protocolsText({ protocols = [] }: ExporterWire): string {
  return protocols.map((protocol) => PROTOCOLS[protocol] ?? protocol).join(", ") || "–";
}

/** `1:1000`, `1:100 to 1:1000`, `not known`. */
export function samplingText({ sampling = [] }: ExporterWire): string {
  if (sampling.length === 0) return "–";
  const rates = sampling.flatMap(({ rate }) => rate ?? []).toSorted((a, b) => a - b);
  const [least, most] = [rates[0], rates.at(-1)];
  if (rates.length < sampling.length || least === undefined || most === undefined) return t`not known`;
  return least === most ? `1:${least}` : t`1:${least} to 1:${most}`;
}

export function originText(origin: string): string {
  return ORIGINS[origin] ?? "–";
}

/** `2 s ahead`, `45 ms behind`. */
export function skewText(ms: number | undefined): string {
  if (ms === undefined) return t`it does not say its time`;
  const size = Math.abs(ms) < 1000 ? t`${Math.round(Math.abs(ms))} ms` : duration(Math.abs(ms) / 1000);
  return ms === 0 ? t`as here` : `${size} ${ms > 0 ? t`ahead` : t`behind`}`;
}

/** `96.0 records/s`. */
export function recordRate(perSecond: number): string {
  const text = scaled(perSecond);
  return `${text}${/[a-zA-Z]$/.test(text) ? "" : " "}/s`;
}

const LEFT_OUT: Readonly<Record<string, string>> = {
  direction: t`for their direction`,
  interface: t`between interfaces that are not external`,
  unknown_interface: t`since the names of their interfaces are not known`,
  site: t`since another exporter of the site counts`,
  late: t`since they are late`,
};

/** `2 400 for their direction, 3 since they are late`; empty: none. */
export function leftOutText({ left_out_records: left = {} }: ExporterWire): string {
  return Object.entries(left)
    .map(([reason, records]) => `${wholeNumber(records)} ${LEFT_OUT[reason] ?? reason}`)
    .join(", ");
}

/** Seconds since it was read; null: it was not. */
export function ageOf({ read_at: at }: TelemetryWire, nowMs: number): number | null {
  return at === undefined ? null : Math.max(0, (nowMs - Date.parse(at)) / 1000);
}
