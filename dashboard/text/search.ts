/** Results of the search of the whole dashboard: for an address its host, bans, attacks and audit trail. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { BAN_STATES, banSubject } from "./bans.ts";
import { type Customer, customerOf, customerSteps } from "./customers.ts";
import { looksLikeAddress } from "./format/address.ts";
import { methodName, vectorName } from "./format/words.ts";
import { attackSubject } from "./mitigation.ts";

export interface SearchHit {
  readonly title: string;
  readonly detail: string;
  /** The path of the place, and its query. */
  readonly steps: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
}

export interface Searched {
  readonly active: readonly AttackWire[];
  readonly recent: readonly AttackWire[];
  readonly bans: readonly BanWire[];
  readonly views: readonly { readonly name: string; readonly title: string }[];
}

/** Results of each kind. */
const HITS_MAX = 5;

/** @param text as typed: an address, a part of one, or the name of a view. */
export function searchHits(text: string, { active, recent, bans, views }: Searched): SearchHit[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const has = (subject: string) => subject.toLowerCase().includes(wanted);
  const attackHits = [...active, ...recent].filter((attack) => has(attackSubject(attack))).slice(0, HITS_MAX);
  const banHits = bans
    .filter((ban) => has(ban.prefix))
    .toSorted(byState)
    .slice(0, HITS_MAX);
  return [
    ...(looksLikeAddress(wanted) ? [host(wanted)] : []),
    ...attackHits.map(attackHit),
    ...banHits.map(banHit),
    ...customers([...active, ...recent])
      .filter(({ name }) => has(name))
      .slice(0, HITS_MAX)
      .map(customerHit),
    ...(looksLikeAddress(wanted) ? records(wanted) : []),
    ...views.filter(({ title }) => has(title)).map(({ name, title }) => viewHit(name, title)),
  ];
}

function host(address: string): SearchHit {
  return { title: `Host ${address}`, detail: "its rates, history and thresholds", steps: ["hosts", address] };
}

function attackHit(attack: AttackWire): SearchHit {
  const { classification, id, started_at: at } = attack;
  const kind = classification === undefined ? "attack" : vectorName(classification.type);
  return {
    title: `Attack on ${attackSubject(attack)}`,
    detail: `${kind}, ${attack.active ? "in progress" : `of ${at.slice(0, 16).replace("T", " ")} UTC`}`,
    steps: ["attacks", id],
  };
}

/** Each once. */
function customers(attacks: readonly AttackWire[]): Customer[] {
  const named = attacks.map((attack) => customerOf(attack));
  return [...new Map(named.map((customer) => [`${customer.kind} ${customer.name}`, customer])).values()];
}

function customerHit(customer: Customer): SearchHit {
  return { title: `Customer ${customer.name}`, detail: "its incidents", steps: customerSteps(customer) };
}

function banHit(ban: BanWire): SearchHit {
  return {
    title: `Ban of ${banSubject(ban)}`,
    detail: `${methodName(ban.method)}, ${BAN_STATES[ban.state]}`,
    steps: ["mitigation", ban.prefix, ban.started_at],
  };
}

function records(address: string): SearchHit[] {
  const query = { target: address, range: "30d" };
  return [
    {
      title: `Earlier attacks on ${address}`,
      detail: "of the last 30 days",
      steps: ["attacks"],
      query: { ...query, which: "history" },
    },
    { title: `Audit trail of ${address}`, detail: "of the last 30 days", steps: ["audit"], query },
  ];
}

function viewHit(name: string, title: string): SearchHit {
  return { title, detail: "view", steps: name === "" ? [] : [name] };
}

/** Active ones first. */
function byState(a: BanWire, b: BanWire): number {
  return Number(b.state === "active") - Number(a.state === "active");
}
