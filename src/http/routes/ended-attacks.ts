/** The ended attacks of the history in pages by date (docs/interface.md#attacks-of-the-history). */
import { Type } from "@sinclair/typebox";
import { HISTORY_ATTACKS_MAX } from "../../limits.ts";
import { timestamp } from "../../schema/timestamp.ts";
import type { Clock } from "../../system/clock.ts";
import { ATTACK_TARGET } from "../attack-list.ts";
import type { Backend } from "../backend.ts";
import { emptyName, isRefusal, targetOf } from "../filters.ts";
import type { ReadRoute } from "../route.ts";
import { RANGE_PARAMETERS } from "../route-description.ts";
import { jsonAnswer } from "../server/answer.ts";
import { parameter } from "../server/query.ts";
import { timeRange } from "../time-range.ts";
import { attackOfTenant, attackToWire, EndedAttacksWire } from "../wire/attack.ts";
import { NameText, TargetText } from "../wire/request-texts.ts";

const PAGE_ROWS = HISTORY_ATTACKS_MAX - 1;

export function endedAttacksRoute(
  backend: Pick<Backend, "endedAttacks" | "tenancy">,
  clock: Pick<Clock, "wallMs">,
): ReadRoute {
  return {
    name: "attacks_history",
    method: "GET",
    path: "/api/v1/attacks/history",
    access: "viewer",
    asksHistory: true,
    about: {
      summary: "Attacks of the history that ended in a time range, newest end first",
      query: {
        ...RANGE_PARAMETERS,
        to_id: {
          text: "Of the attacks that ended at `to`, only those up to this id: where a page says that the next begins.",
          schema: Type.String(),
        },
        target: { text: ATTACK_TARGET, schema: TargetText },
        group: { text: "Only of this hostgroup.", schema: NameText },
        tenant: { text: "Only on hosts of this tenant, as it was when they ended.", schema: NameText },
      },
      answers: {
        200: { text: `At most ${PAGE_ROWS}; with storage off none, and available is false.`, schema: EndedAttacksWire },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ principal: { tenant }, query }) => {
      const range = timeRange(query, clock.wallMs());
      if (range.kind !== "range") return range;
      const empty = emptyName(query, ["group", "tenant"]);
      if (empty !== null) return empty;
      const target = targetOf(query);
      if (isRefusal(target)) return target;
      const { fromMs, toMs } = range;
      const views = await backend.endedAttacks(
        {
          range: { fromMs, toMs },
          toId: parameter(query, "to_id"),
          filters: { target, group: parameter(query, "group"), tenant: parameter(query, "tenant") },
          tenant,
          limit: HISTORY_ATTACKS_MAX,
        },
        tenant,
      );
      if (views === null) return jsonAnswer(200, { available: false, attacks: [] });
      const tenancy = backend.tenancy();
      const owned = views.slice(0, PAGE_ROWS).map((view) => ({ view, owner: tenancy.ownerOf(view.attack) }));
      const attacks = owned.filter(({ owner }) => tenant === null || owner === tenant);
      const next = views[PAGE_ROWS]?.attack;
      return jsonAnswer(200, {
        available: true,
        attacks: attacks.map(({ view, owner }) => attackToWire(attackOfTenant(view, tenant), owner)),
        ...(next?.endedAt == null ? {} : { next: { to: timestamp(next.endedAt), to_id: next.id } }),
      });
    },
  };
}
