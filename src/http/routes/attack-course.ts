/** How one attack went: its traffic tick by tick, what was decided, and its sources. A foreign attack is unknown. */
import type { Principal } from "../../access/principal.ts";
import { parseAddress } from "../../net/address.ts";
import type { AttackView, Backend } from "../backend.ts";
import { blockRefusalText } from "../refusal.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { SeriesWire, seriesToWire, TimelineWire, timelineToWire } from "../wire/attack-series.ts";
import { AttackSourcesWire, attackSourcesToWire, sourcesOfTenant } from "../wire/attack-sources.ts";

export type Attacks = Pick<Backend, "attack" | "tenancy">;

const ABSENT = {
  404: { text: "Unknown attack, or another tenant's." },
  502: { text: "The history cannot be read." },
} as const;

export function attackSeriesRoute(backend: Attacks & Pick<Backend, "attackSeries">): ReadRoute {
  return {
    name: "attack_series",
    method: "GET",
    path: "/api/v1/attacks/:id/series",
    access: "viewer",
    asksHistory: true,
    about: {
      summary: "The traffic of one attack tick by tick, from before it was detected",
      answers: {
        200: { text: "The points, oldest first; none if the service has them no more.", schema: SeriesWire },
        ...ABSENT,
      },
    },
    handle: async ({ principal, params }) => {
      const view = await visibleAttack(backend, principal, params["id"] ?? "");
      if (view === null) return { kind: "unknown_attack" };
      const { attack } = view;
      return jsonAnswer(200, seriesToWire({ attack, series: backend.attackSeries(attack.id) }));
    },
  };
}

export function attackTimelineRoute(backend: Attacks): ReadRoute {
  return {
    name: "attack_timeline",
    method: "GET",
    path: "/api/v1/attacks/:id/timeline",
    access: "viewer",
    asksHistory: true,
    about: {
      summary: "What was decided about one attack, and when",
      answers: { 200: { text: "The entries, oldest first.", schema: TimelineWire }, ...ABSENT },
    },
    handle: async ({ principal, params }) => {
      const view = await visibleAttack(backend, principal, params["id"] ?? "");
      return view === null
        ? { kind: "unknown_attack" }
        : jsonAnswer(200, timelineToWire(view.attack, principal.tenant));
    },
  };
}

export function attackSourcesRoute(
  backend: Attacks & Pick<Backend, "attackSources" | "attackPacketCounts" | "blockRefusal">,
): ReadRoute {
  return {
    name: "attack_sources",
    method: "GET",
    path: "/api/v1/attacks/:id/sources",
    access: "viewer",
    asksHistory: true,
    about: {
      summary: "Where the newest sampled packets of one attack come from",
      answers: {
        200: { text: "Addresses, prefixes and origins; none if no packets are kept.", schema: AttackSourcesWire },
        ...ABSENT,
      },
    },
    handle: async ({ principal, params }) => {
      const view = await visibleAttack(backend, principal, params["id"] ?? "");
      if (view === null) return { kind: "unknown_attack" };
      const { id, target: victim } = view.attack;
      const sources = sourcesOfTenant(backend.attackSources(id), principal.tenant);
      const refusalOf = (text: string) => {
        const source = parseAddress(text);
        const refusal = source === null || victim === null ? null : backend.blockRefusal({ source, victim }, principal);
        return refusal === null ? null : blockRefusalText(refusal);
      };
      return jsonAnswer(200, attackSourcesToWire(id, sources, backend.attackPacketCounts(id), refusalOf));
    },
  };
}

/** null: unknown, or another tenant's. */
export async function visibleAttack(backend: Attacks, { tenant }: Principal, id: string): Promise<AttackView | null> {
  const view = await backend.attack(id, tenant);
  if (view === null) return null;
  return tenant === null || tenant === backend.tenancy().ownerOf(view.attack) ? view : null;
}
