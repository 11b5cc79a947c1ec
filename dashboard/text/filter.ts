/** The filter of a view in words and in the address of the page: `hostgroup=web;country!=DE`. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { t } from "../language.ts";
import { vectorName } from "./format/vectors.ts";
import { protocolWord } from "./format/words.ts";

export const FILTER_FIELDS = [
  "hostgroup",
  "customer",
  "host",
  "kind",
  "protocol",
  "asn",
  "country",
  "prefix",
  "src_port",
  "dst_port",
  "exporter",
  "interface",
] as const;
export type FilterField = (typeof FILTER_FIELDS)[number];

export const FIELD_NAMES: Readonly<Record<FilterField, string>> = {
  asn: t`Source network`,
  country: t`Source country`,
  prefix: t`Source prefix`,
  src_port: t`Source port`,
  dst_port: t`Destination port`,
  protocol: t`Protocol`,
  exporter: t`Exporter`,
  interface: t`Interface`,
  kind: t`Kind`,
  hostgroup: t`Hostgroup`,
  customer: t`Customer`,
  host: t`Victim`,
};

export interface Term {
  readonly field: FilterField;
  readonly value: string;
  /** Rows that have the value are left out. */
  readonly isExcluded: boolean;
}

/** A longer one fits in no address. */
export const TERMS_MAX = 12;
const TERM = /^\s*([a-z_]+)\s*(!?=)\s*(.+?)\s*$/;

/** null: not of the form `field=value`. */
export function termOf(text: string): Term | null {
  const [, name, sign, value] = TERM.exec(text) ?? [];
  const field = FILTER_FIELDS.find((each) => each === name);
  return field === undefined || value === undefined ? null : { field, value, isExcluded: sign === "!=" };
}

export function termText({ field, value, isExcluded }: Term): string {
  return `${field}${isExcluded ? "!=" : "="}${value}`;
}

/** `Kind ≠ SYN flood`. */
export function termWords({ field, value, isExcluded }: Term): string {
  return `${FIELD_NAMES[field]} ${isExcluded ? "≠" : "="} ${valueWords(field, value)}`;
}

/** A value as it is shown. */
export function valueWords(field: FilterField, value: string): string {
  if (field === "protocol") return protocolWord(value);
  return field === "kind" ? vectorName(value) : value;
}

/** Text that is no term is left out. */
export function parseFilter(text: string | null): readonly Term[] {
  const terms = (text ?? "").split(";").map((each) => termOf(each.replaceAll("%3B", ";").replaceAll("%25", "%")));
  return terms.filter((term) => term !== null).slice(0, TERMS_MAX);
}

/** null: no filter. */
export function filterText(terms: readonly Term[]): string | null {
  const texts = terms.map((term) => termText(term).replaceAll("%", "%25").replaceAll(";", "%3B"));
  return texts.length === 0 ? null : texts.join(";");
}

/** With the term, in place of the one that says the contrary; or without it if it was there. */
export function withTerm(terms: readonly Term[], term: Term): readonly Term[] {
  const others = terms.filter(({ field, value }) => field !== term.field || value !== term.value);
  const wasThere = terms.some((each) => termText(each) === termText(term));
  return wasThere ? others : [...others, term];
}

/** The values that an attack has of a field, by its record and the packets sampled of it. */
export function attackValues(attack: AttackWire, field: FilterField): readonly string[] {
  const { sample, target, prefix, group, tenant, classification } = attack;
  const keys = (shares: readonly { readonly key: string }[] | undefined) => (shares ?? []).map(({ key }) => key);
  switch (field) {
    case "hostgroup":
      return [group];
    case "customer":
      return tenant === undefined ? [] : [tenant];
    case "host":
      return [target ?? prefix ?? []].flat();
    case "kind":
      return classification === undefined ? [] : [classification.type];
    case "protocol":
      return keys(sample?.protocols);
    case "asn":
      return keys(sample?.top_asns);
    case "country":
      return keys(sample?.top_countries);
    case "prefix":
      return keys(sample?.top_prefixes);
    case "src_port":
      return keys(sample?.top_src_ports);
    case "dst_port":
      return keys(sample?.top_dst_ports);
    case "exporter":
      return [...new Set((sample?.top_interfaces ?? []).map(({ exporter }) => exporter))];
    case "interface":
      return (sample?.top_interfaces ?? []).map(interfaceText);
    default:
      return field satisfies never;
  }
}

/** As the history names it: `edge1 xe-0/0/1`, or `edge1 interface 17`. */
export function interfaceText(at: {
  readonly exporter: string;
  readonly name?: string;
  readonly interface: number;
}): string {
  return `${at.exporter} ${at.name ?? `interface ${at.interface}`}`;
}

/** Values of one field are alternatives; fields are conditions. */
export function isKept(terms: readonly Term[], valuesOf: (field: FilterField) => readonly string[]): boolean {
  for (const [field, of] of Map.groupBy(terms, ({ field: name }) => name)) {
    const values = valuesOf(field);
    const has = ({ value }: Term) => values.some((each) => isSame(field, each, value));
    const wanted = of.filter(({ isExcluded }) => !isExcluded);
    if (wanted.length > 0 && !wanted.some(has)) return false;
    if (of.some((term) => term.isExcluded && has(term))) return false;
  }
  return true;
}

/** `AS64500` is enough for a network of which the name is known too. */
function isSame(field: FilterField, has: string, wanted: string): boolean {
  const [own, asked] = [has.toLowerCase(), wanted.toLowerCase()];
  return own === asked || (field === "asn" && own.startsWith(`${asked} `));
}

export function attacksKept(terms: readonly Term[], attacks: readonly AttackWire[]): readonly AttackWire[] {
  if (terms.length === 0) return attacks;
  return attacks.filter((attack) => isKept(terms, (field) => attackValues(attack, field)));
}

/** A ban has the values of the attack that it is for; one by hand has its address alone. */
export function bansKept(
  terms: readonly Term[],
  bans: readonly BanWire[],
  attacks: readonly AttackWire[],
): readonly BanWire[] {
  if (terms.length === 0) return bans;
  const bySubject = new Map(attacks.map((attack) => [attack.target ?? attack.prefix, attack]));
  return bans.filter((ban) => {
    const attack = bySubject.get(ban.target) ?? bySubject.get(ban.prefix);
    return isKept(terms, (field) => {
      if (attack !== undefined) return attackValues(attack, field);
      return field === "host" ? [ban.target, ban.prefix] : [];
    });
  });
}

/** The rates of all hosts are kept by hostgroup: what of the filter a chart of them can show. */
export function totalScope(terms: readonly Term[]): {
  /** null: of all hosts. */
  readonly hostgroup: string | null;
  readonly ignored: readonly Term[];
} {
  const groups = terms.filter(({ field, isExcluded }) => field === "hostgroup" && !isExcluded);
  const only = groups.length === 1 ? groups[0] : undefined;
  return {
    hostgroup: only?.value ?? null,
    ignored: terms.filter((term) => term !== only),
  };
}

const COMPLETED_MAX = 50;

/** Completions of the typed text: fields, or values that the attacks have of the field, the most frequent first. */
export function completions(attacks: readonly AttackWire[], typed: string): readonly string[] {
  const [, name, sign = "="] = /^\s*([a-z_]+)\s*(!?=)/.exec(typed) ?? [];
  const field = FILTER_FIELDS.find((each) => each === name);
  if (field === undefined) return FILTER_FIELDS.map((each) => `${each}=`);
  const counts = new Map<string, number>();
  for (const attack of attacks) {
    for (const value of attackValues(attack, field)) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const sorted = [...counts].sort((a, b) => b[1] - a[1]).slice(0, COMPLETED_MAX);
  return sorted.map(([value]) => `${field}${sign}${value}`);
}
