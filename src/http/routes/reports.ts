/** Reports for customers as HTML: of one attack, and of all attacks in a time (docs/interface.md#reports). */
import { Type } from "@sinclair/typebox";
import type { Principal } from "../../access/principal.ts";
import { HISTORY_ATTACKS_MAX } from "../../limits.ts";
import type { Clock } from "../../system/clock.ts";
import type { AttackView, Backend } from "../backend.ts";
import { emptyName } from "../filters.ts";
import { attackReport } from "../report/attack-report.ts";
import { PAGE_POLICY } from "../report/html.ts";
import { rangeReport } from "../report/range-report.ts";
import type { ReadRoute, Route } from "../route.ts";
import { RANGE_PARAMETERS } from "../route-description.ts";
import { pageAnswer } from "../server/answer.ts";
import { parameter } from "../server/query.ts";
import { timeRange } from "../time-range.ts";
import { type AttackWire, attackOfTenant, attackToWire } from "../wire/attack.ts";
import { seriesToWire, timelineToWire } from "../wire/attack-series.ts";
import { attackSourcesToWire, sourcesOfTenant } from "../wire/attack-sources.ts";
import { NameText } from "../wire/request-texts.ts";
import { visibleAttack } from "./attack-course.ts";

type Reported = Pick<
  Backend,
  "attack" | "tenancy" | "attackSeries" | "attackSources" | "attackPacketCounts" | "endedAttacks"
>;

const HTML = { schema: Type.String(), mediaType: "text/html" } as const;
/** Attacks that one report of a time reads, in pages of the history. */
const REPORTED_ATTACKS_MAX = 10 * HISTORY_ATTACKS_MAX;

export function reportRoutes(backend: Reported, clock: Pick<Clock, "wallMs">): readonly Route[] {
  return [attackReportRoute(backend, clock), rangeReportRoute(backend, clock)];
}

function attackReportRoute(backend: Reported, clock: Pick<Clock, "wallMs">): ReadRoute {
  return {
    name: "attack_report",
    method: "GET",
    path: "/api/v1/attacks/:id/report",
    access: "viewer",
    asksHistory: true,
    about: {
      summary: "The report of one attack for a customer, as a page that prints well",
      answers: {
        200: { text: "The page: it needs nothing else, and has no scripts.", ...HTML },
        404: { text: "Unknown attack, or another tenant's." },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ principal, params }) => {
      const { tenant } = principal;
      const view = await visibleAttack(backend, principal, params["id"] ?? "");
      if (view === null) return { kind: "unknown_attack" };
      const { attack } = view;
      const sources = sourcesOfTenant(backend.attackSources(attack.id), tenant);
      const text = attackReport({
        attack: wireOf(backend, view, principal),
        series: seriesToWire({ attack, series: backend.attackSeries(attack.id) }),
        timeline: timelineToWire(attack, tenant),
        sources: attackSourcesToWire(attack.id, sources, backend.attackPacketCounts(attack.id)),
        nowMs: clock.wallMs(),
      });
      return pageAnswer(text, PAGE_POLICY);
    },
  };
}

function rangeReportRoute(backend: Reported, clock: Pick<Clock, "wallMs">): ReadRoute {
  return {
    name: "range_report",
    method: "GET",
    path: "/api/v1/report",
    access: "viewer",
    asksHistory: true,
    about: {
      summary: "The report of all attacks that ended in a time, as a page that prints well",
      query: {
        ...RANGE_PARAMETERS,
        group: { text: "Only of this hostgroup.", schema: NameText },
        tenant: { text: "Only on hosts of this tenant, as it was when they ended.", schema: NameText },
      },
      answers: {
        200: { text: "The page: it needs nothing else, and has no scripts.", ...HTML },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ principal, query }) => {
      const range = timeRange(query, clock.wallMs());
      if (range.kind !== "range") return range;
      const empty = emptyName(query, ["group", "tenant"]);
      if (empty !== null) return empty;
      const filters = { target: null, group: parameter(query, "group"), tenant: parameter(query, "tenant") };
      // The moment at which a month ends is of the next one.
      const asked = { fromMs: range.fromMs, toMs: range.toMs - 1, filters };
      const { attacks, isCut } = await endedIn(backend, asked, principal);
      const customer = filters.group === null ? (filters.tenant ?? principal.tenant) : `hostgroup ${filters.group}`;
      const { fromMs, toMs } = range;
      return pageAnswer(rangeReport({ customer, fromMs, toMs, attacks, isCut, nowMs: clock.wallMs() }), PAGE_POLICY);
    },
  };
}

function wireOf(backend: Reported, view: AttackView, { tenant }: Principal) {
  return attackToWire(attackOfTenant(view, tenant), backend.tenancy().ownerOf(view.attack));
}

interface Asked {
  readonly fromMs: number;
  readonly toMs: number;
  readonly filters: { readonly target: null; readonly group: string | null; readonly tenant: string | null };
}

/** The newest first, each page written when it has come. None where storage is off. */
async function endedIn(backend: Reported, { fromMs, toMs, filters }: Asked, principal: Principal) {
  const { tenant } = principal;
  const attacks: AttackWire[] = [];
  let [until, toId]: [number, string | null] = [toMs, null];
  for (let read = 0; read < REPORTED_ATTACKS_MAX; read += HISTORY_ATTACKS_MAX - 1) {
    const question = { range: { fromMs, toMs: until }, toId, filters, tenant, limit: HISTORY_ATTACKS_MAX };
    const page: readonly AttackView[] = (await backend.endedAttacks(question, tenant)) ?? [];
    const next = page[HISTORY_ATTACKS_MAX - 1]?.attack;
    const written = page.slice(0, HISTORY_ATTACKS_MAX - 1).map((view) => wireOf(backend, view, principal));
    attacks.push(...written.filter((attack) => tenant === null || attack.tenant === tenant));
    if (next?.endedAt == null) return { attacks, isCut: false };
    [until, toId] = [next.endedAt, next.id];
  }
  return { attacks, isCut: true };
}
