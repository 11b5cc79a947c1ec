/** The sources by which orders of bans are judged and shown, from the running service. */
import type { Tenancy } from "../access/tenancy.ts";
import type { OrderSources } from "../http/order-sources.ts";
import { overlapping } from "../mitigation/enclosing.ts";
import { receivedServices } from "../mitigation/protection/received-services.ts";
import { canonicalPrefix, prefixCovers } from "../net/prefix.ts";
import type { Floodwall } from "./floodwall.ts";
import { banEffect } from "./order-effects.ts";

export function orderSources(floodwall: Floodwall, tenancy: () => Tenancy): OrderSources {
  return {
    templates: () => new Map(floodwall.config.orderTemplates.map(({ name, order }) => [name, order])),
    contentsOf: (prefix) => {
      const { whitelist, lookup, hostgroups } = floodwall.config;
      const entry = overlapping(whitelist, prefix);
      const isWithin = entry !== null && entry !== prefix.text && prefixCovers(prefix, canonicalPrefix(entry));
      const inOrder = lookup.groupsIn(prefix).toSorted((a, b) => a - b);
      const groups = inOrder.flatMap((index) => hostgroups[index]?.name ?? []);
      return { spared: isWithin ? entry : null, hostgroups: groups };
    },
    effect: (ban, by) => banEffect(ban, floodwall, (host) => tenancy().owns(by, host)),
    keptFrom: (route) => floodwall.announcer?.keptFrom(route) ?? [],
    received: (prefix) => {
      const minute = floodwall.packetPath?.minute() ?? null;
      return minute === null ? null : receivedServices(minute, prefix);
    },
    diversions: () => floodwall.diversions.views(),
    foreignRoutes: async () => (await floodwall.announcer?.foreignRoutes()) ?? null,
  };
}
