/** The ended attacks of the history in pages by date (docs/interface.md#attacks-of-the-history). */
import { Type } from "@sinclair/typebox";
import { HISTORY_ATTACKS_MAX } from "../../limits.ts";
import { parseAddress } from "../../net/address.ts";
import { timestamp } from "../../schema/timestamp.ts";
import type { Clock } from "../../system/clock.ts";
import type { Backend } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { RANGE_PARAMETERS } from "../route-description.ts";
import { jsonAnswer } from "../server/answer.ts";
import { parameter } from "../server/query.ts";
import { timeRange } from "../time-range.ts";
import { attackOfTenant, attackToWire, EndedAttacksWire } from "../wire/attack.ts";
import { AddressText } from "../wire/request-texts.ts";

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
        target: { text: "Only attacks on this address, in any spelling.", schema: AddressText },
      },
      answers: {
        200: { text: `At most ${PAGE_ROWS}; with storage off none, and available is false.`, schema: EndedAttacksWire },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ principal: { tenant }, query }) => {
      const range = timeRange(query, clock.wallMs());
      if (range.kind !== "range") return range;
      const text = parameter(query, "target");
      const target = text === null ? null : parseAddress(text);
      if (text !== null && target === null) return { kind: "invalid_ip", text };
      const { fromMs, toMs } = range;
      const views = await backend.endedAttacks(
        {
          range: { fromMs, toMs },
          toId: parameter(query, "to_id"),
          target,
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
