/**
 * Results of the search of the whole dashboard: for an address what it is, its bans, attacks and audit trail; for a name
 * what has it. Pure.
 */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { t } from "../language.ts";
import { BAN_STATES, banSubject } from "./bans.ts";
import { looksLikeAddress } from "./format/address.ts";
import { vectorName } from "./format/vectors.ts";
import { methodName } from "./format/words.ts";
import { attackSubject } from "./mitigation.ts";
import type { Named } from "./search-names.ts";

export interface SearchHit {
  readonly title: string;
  readonly detail: string;
  /** The path of the place, and its query. */
  readonly steps: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
}

interface Searched {
  readonly active: readonly AttackWire[];
  readonly recent: readonly AttackWire[];
  readonly bans: readonly BanWire[];
  readonly views: readonly { readonly name: string; readonly title: string }[];
  readonly named: readonly Named[];
}

/** Results of each kind. */
const HITS_MAX = 5;
/** Maximum of all that has a name. */
const NAMED_MAX = 12;

/** @param text as typed: an address, a part of one, a name, or a part of it. */
export function searchHits(text: string, { active, recent, bans, views, named }: Searched): SearchHit[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const has = (subject: string) => subject.toLowerCase().includes(wanted);
  const all = [...active, ...recent];
  const attackHits = all.filter((attack) => has(attackSubject(attack))).slice(0, HITS_MAX);
  const namedHits = named.filter((thing) => has(thing.title) || thing.words?.some(has) === true);
  const banHits = bans
    .filter((ban) => has(ban.prefix))
    .toSorted(byState)
    .slice(0, HITS_MAX);
  return [
    ...namedHits.slice(0, NAMED_MAX).map(namedHit),
    ...(looksLikeAddress(wanted) ? addressHits(wanted, all, namedHits) : []),
    ...attackHits.map(attackHit),
    ...banHits.map(banHit),
    ...(looksLikeAddress(wanted) ? records(wanted) : []),
    ...views.filter(({ title }) => has(title)).map(({ name, title }) => viewHit(name, title)),
  ];
}

function namedHit({ title, detail, steps, query }: Named): SearchHit {
  return { title, detail, steps, ...(query !== undefined && { query }) };
}

/** Only an address of which nothing else is known is offered as a host. */
function addressHits(address: string, attacks: readonly AttackWire[], named: readonly Named[]): SearchHit[] {
  const sent = attacks.filter(({ sample }) => sample?.top_sources.some(({ key }) => key === address) === true);
  const isTarget = attacks.some(({ target }) => target === address);
  const isOther = sent.length > 0 || named.some((thing) => thing.address === address);
  return [
    ...sent.slice(0, HITS_MAX).map((attack) => sourceHit(address, attack)),
    ...(isOther && !isTarget ? [] : [host(address)]),
  ];
}

function sourceHit(address: string, attack: AttackWire): SearchHit {
  return {
    title: t`Source ${address}`,
    detail: t`of the attack on ${attackSubject(attack)}`,
    steps: ["attacks", attack.id],
  };
}

function host(address: string): SearchHit {
  return { title: t`Host ${address}`, detail: t`its rates, history and thresholds`, steps: ["hosts", address] };
}

function attackHit(attack: AttackWire): SearchHit {
  const { classification, id, started_at: at } = attack;
  const kind = classification === undefined ? t`attack` : vectorName(classification.type);
  return {
    title: t`Attack on ${attackSubject(attack)}`,
    detail: `${kind}, ${attack.active ? t`in progress` : t`of ${at.slice(0, 16).replace("T", " ")} UTC`}`,
    steps: ["attacks", id],
  };
}

function banHit(ban: BanWire): SearchHit {
  return {
    title: t`Ban of ${banSubject(ban)}`,
    detail: `${methodName(ban.method)}, ${BAN_STATES[ban.state]}`,
    steps: ["mitigation", ban.prefix, ban.started_at],
  };
}

function records(address: string): SearchHit[] {
  const query = { target: address, range: "30d" };
  return [
    {
      title: t`Earlier attacks on ${address}`,
      detail: t`of the last 30 days`,
      steps: ["attacks"],
      query: { ...query, which: "history" },
    },
    { title: t`Audit trail of ${address}`, detail: t`of the last 30 days`, steps: ["audit"], query },
  ];
}

function viewHit(name: string, title: string): SearchHit {
  return { title, detail: t`view`, steps: name === "" ? [] : [name] };
}

/** Active ones first. */
function byState(a: BanWire, b: BanWire): number {
  return Number(b.state === "active") - Number(a.state === "active");
}
