/**
 * The list of attacks: its filters, and its pages, newest first. A page continues after a place in the order, since attacks
 * begin and end between two pages.
 */
import { Type } from "@sinclair/typebox";
import { isActive } from "../detection/attack/attack.ts";
import { ATTACKS_PAGE_MAX } from "../limits.ts";
import type { Method } from "../mitigation/escalation.ts";
import type { AttackView } from "./backend.ts";
import { during, type Filters, named, within, word } from "./filters.ts";
import { JsonArray } from "./server/json-array.ts";
import { type InvalidQuery, invalidQuery, parameter } from "./server/query.ts";
import type { Reader } from "./table-pass.ts";
import { attackOfTenant, attackToWire } from "./wire/attack.ts";
import { NameText } from "./wire/request-texts.ts";

export const MITIGATION_METHODS = ["blackhole", "flowspec", "divert", "scrub"] as const satisfies readonly Method[];

export interface OwnedAttack {
  readonly view: AttackView;
  readonly owner: string | null;
}

const DEFAULT_LIMIT = 100;

const methodOf = ({ attack, ban }: AttackView) => ban?.method ?? attack.mitigation?.method ?? "none";

/** Also of an attack that is spread. */
export const ATTACK_TARGET = "Only those on this address, or inside this prefix.";

export const ATTACK_FILTERS: Filters<OwnedAttack> = {
  state: word("Only those in progress, or only those that ended.", ["active", "ended"], ({ view }) =>
    isActive(view.attack) ? "active" : "ended",
  ),
  group: named("Only of this hostgroup.", ({ view }) => view.attack.group),
  tenant: named("Only of this tenant.", ({ owner }) => owner),
  direction: word("Only in this direction.", ["incoming", "outgoing"], ({ view }) => view.attack.direction),
  kind: named("Only of this kind, as in `classification.type`.", ({ view }) => view.attack.classification?.type),
  method: word(
    "Only those with this method of mitigation, or with none.",
    [...MITIGATION_METHODS, "none"],
    ({ view }) => methodOf(view),
  ),
  target: within(ATTACK_TARGET, ({ view }) => [view.attack.target, view.attack.carpet?.prefix ?? null]),
  ...during<OwnedAttack>(({ view }) => ({ start: view.attack.startedAt, end: view.attack.endedAt })),
};

export const ATTACKS_PARAMETERS = {
  ...ATTACK_FILTERS,
  limit: {
    text: `Attacks on the page: the newest in progress, then those that ended last. Default: all of them; ${DEFAULT_LIMIT} with after.`,
    schema: Type.Integer({ minimum: 1, maximum: ATTACKS_PAGE_MAX }),
  },
  after: { text: "What next was on the page before.", schema: NameText },
};

interface PageQuery {
  readonly kind: "page";
  readonly limit: number;
  /** null: the first page. */
  readonly after: Place | null;
}

interface Place {
  readonly isActive: boolean;
  /** Time of the start while it is active, then of the end; wall clock, ms. */
  readonly atMs: number;
  readonly id: string;
}

/** null: neither parameter is given, so there are no pages. */
export function attacksPageQuery(query: URLSearchParams): PageQuery | InvalidQuery | null {
  const limit = parameter(query, "limit");
  const text = parameter(query, "after");
  if (limit === null && text === null) return null;
  if (limit !== null && (!/^[1-9]\d{0,8}$/.test(limit) || Number(limit) > ATTACKS_PAGE_MAX)) {
    return invalidQuery(`limit must be a whole number from 1 to ${ATTACKS_PAGE_MAX}: ${limit}`);
  }
  const [, state, atMs, id = ""] = /^(active|ended),(\d{1,16}),(.+)$/.exec(text ?? "") ?? [];
  if (text !== null && state === undefined) {
    return invalidQuery(`after must be what next was on the page before: ${text}`);
  }
  const after = state === undefined ? null : { isActive: state === "active", atMs: Number(atMs), id };
  return { kind: "page", limit: Number(limit ?? DEFAULT_LIMIT), after };
}

/** Answers `{active: [...], recent: [...]}` with the attacks that are wanted. */
export class AttackList implements Reader<OwnedAttack> {
  readonly #isWanted: (item: OwnedAttack) => boolean;
  readonly #tenant: string | null;
  readonly #page: PageQuery | null;
  readonly #found: OwnedAttack[] = [];
  readonly #active = new JsonArray();
  readonly #recent = new JsonArray();

  /** @param page null: all of them, each written as it is seen. */
  constructor(tenant: string | null, isWanted: (item: OwnedAttack) => boolean, page: PageQuery | null) {
    this.#tenant = tenant;
    this.#isWanted = isWanted;
    this.#page = page;
  }

  see(item: OwnedAttack): void {
    if (this.#tenant !== null && this.#tenant !== item.owner) return;
    if (!this.#isWanted(item)) return;
    if (this.#page === null) this.#write(item);
    else this.#found.push(item);
  }

  *answer(): Generator<undefined, Blob> {
    const more = this.#page === null ? "" : yield* this.#writePage(this.#page);
    return new Blob(['{"active":', ...this.#active.parts(), ',"recent":', ...this.#recent.parts(), `${more}}`]);
  }

  #write({ view, owner }: OwnedAttack): void {
    const list = isActive(view.attack) ? this.#active : this.#recent;
    list.add(attackToWire(attackOfTenant(view, this.#tenant), owner));
  }

  *#writePage({ after, limit }: PageQuery): Generator<undefined, string> {
    const found = this.#found.map((item) => ({ item, place: placeOf(item) })).sort((a, b) => order(a.place, b.place));
    const rest = after === null ? found : found.filter(({ place }) => order(place, after) > 0);
    const page = rest.slice(0, limit);
    for (const { item } of page) {
      this.#write(item);
      yield;
    }
    const last = page.at(-1);
    const next = last !== undefined && rest.length > limit ? placeText(last.place) : null;
    return `,"total":${found.length}${next === null ? "" : `,"next":${JSON.stringify(next)}`}`;
  }
}

function placeOf({ view: { attack } }: OwnedAttack): Place {
  const { id, startedAt, endedAt } = attack;
  return { isActive: endedAt === null, atMs: endedAt ?? startedAt, id };
}

/** Those in progress first, and of both the newest. */
function order(a: Place, b: Place): number {
  if (a.isActive !== b.isActive) return a.isActive ? -1 : 1;
  return b.atMs - a.atMs || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
}

function placeText({ isActive: isOn, atMs, id }: Place): string {
  return `${isOn ? "active" : "ended"},${atMs},${id}`;
}
