/** The preview of a ban. */
import { type Static, Type } from "@sinclair/typebox";
import type { Route } from "../../mitigation/announcer.ts";
import type { Ban } from "../../mitigation/ban.ts";
import { anyRouteText, isForReader, routesOf } from "../../mitigation/measure.ts";
import { NO_RULE_FOR_IT } from "../../mitigation/route-watch.ts";
import { closedObject } from "../../schema/schema-forms.ts";
import type { BlockRefusal } from "../../sourceblock/admission.ts";
import type { BanPreview, BgpNeighborView, BgpView } from "../backend.ts";
import type { OrderEffect, OrderSources } from "../order-sources.ts";
import { blockRefusalText } from "../refusal.ts";
import { BanWire, banToWire, OrderedBanWire, ofTenant } from "./ban.ts";
import { effectToWire, OrderEffectWire } from "./order-effect.ts";

export const BanPreviewWire = closedObject({
  /** The answer that the command would get now: rejected with its reason if policy refuses. */
  ban: BanWire,
  /** Absent: the address is outside of all networks. */
  hostgroup: Type.Optional(Type.String()),
  /** The address has a ban: the command would extend it and make it a manual one. */
  refresh: Type.Boolean(),
  /** Why a source block for the address would be refused now, whatever the source is. Absent: it would not. */
  source_block_refused: Type.Optional(Type.String()),
});
export type BanPreviewWire = Static<typeof BanPreviewWire>;

const NeighborPreviewWire = closedObject({
  neighbor: Type.String(),
  name: Type.Optional(Type.String()),
  /** The routes and rules that it would get, as text. */
  routes: Type.Array(Type.String()),
  /** Why it would get none, or not now. */
  cause: Type.Optional(Type.String()),
});

export const OrderPreviewWire = closedObject({
  ban: OrderedBanWire,
  hostgroup: Type.Optional(Type.String()),
  refresh: Type.Boolean(),
  effect: OrderEffectWire,
  /**
   * The bans whose blackhole of the prefix that it diverts is left out from then on, for the neighbors that take no longer
   * prefix: the oldest ones. Absent: there is none, or the caller has a tenant.
   */
  replaces_blackhole_of: Type.Optional(Type.Array(Type.String())),
  /** Absent: nothing is announced at all, or the caller has a tenant. */
  neighbors: Type.Optional(Type.Array(NeighborPreviewWire)),
});
/** Bans that are named; a wider prefix may be dropped for thousands. */
const REPLACED_SHOWN = 20;

export type OrderPreviewWire = Static<typeof OrderPreviewWire>;

interface OrderPreview {
  readonly preview: BanPreview;
  readonly ban: OrderedBanWire;
  readonly effect: OrderEffect;
  /** null: nothing is announced, or the caller does not see the neighbors. */
  readonly bgp: BgpView | null;
  readonly keptFrom: OrderSources["keptFrom"];
}

export function orderPreviewToWire({ preview, ban, effect, bgp, keptFrom }: OrderPreview): OrderPreviewWire {
  const { group, isRefresh, replaces = [] } = preview;
  return {
    ban,
    ...(group === null ? {} : { hostgroup: group }),
    refresh: isRefresh,
    effect: effectToWire(effect),
    ...(bgp !== null &&
      replaces.length > 0 && {
        replaces_blackhole_of: replaces.slice(0, REPLACED_SHOWN).map(({ prefix }) => prefix.text),
      }),
    ...(bgp === null || preview.ban.state === "rejected"
      ? {}
      : { neighbors: neighborsToWire(preview.ban, bgp, keptFrom) }),
  };
}

function neighborsToWire(
  { measure, prefix, dryRun }: Ban,
  { config, neighbors }: BgpView,
  keptFrom: OrderSources["keptFrom"],
): Static<typeof NeighborPreviewWire>[] {
  const routes = routesOf(measure, prefix);
  return config.neighbors.map(({ address, name }) => {
    const session = neighbors.find((one) => one.address === address);
    const read = routes.filter((route) => isForReader(route, address));
    const kept = read.flatMap((route) => keptFrom(route).find(({ neighbor }) => neighbor === address) ?? []);
    const own = read.filter((route) => !keptFrom(route).some(({ neighbor }) => neighbor === address));
    const isNone = read.length === 0 && routes.length > 0;
    const isTaken = ({ kind, prefix: { family } }: Route) =>
      session?.families.includes(`ipv${family}-${kind}`) === true;
    const isUp = (session?.families.length ?? 0) > 0;
    const taken = isUp ? own.filter(isTaken) : own;
    const cause =
      (isNone ? NO_RULE_FOR_IT : own.length === 0 ? kept[0]?.cause : null) ??
      causeOf({ routes: routes.length, isShort: taken.length < own.length, isUp, session, dryRun });
    return {
      neighbor: address,
      ...(name !== undefined && { name }),
      routes: taken.map(anyRouteText),
      ...(cause !== null && { cause }),
    };
  });
}

interface Sending {
  /** Number of all. */
  readonly routes: number;
  /** The session does not take all of them. */
  readonly isShort: boolean;
  readonly isUp: boolean;
  readonly session: BgpNeighborView | undefined;
  readonly dryRun: boolean;
}

function causeOf({ routes, isShort, isUp, session, dryRun }: Sending): string | null {
  if (routes === 0) return "there is nothing to announce";
  if (dryRun) return "dry run: nothing is announced";
  if (!isUp) return `no session: ${session?.state ?? "unknown"}`;
  return isShort ? "its session does not have the address family" : null;
}

export function banPreviewToWire(
  { ban, group, isRefresh, movesWith }: BanPreview,
  blockRefusal: BlockRefusal | null,
  tenant: string | null,
): BanPreviewWire {
  return {
    ban: banToWire(ofTenant({ ban, routeState: null, movesWith: movesWith ?? null }, tenant)),
    ...(group === null ? {} : { hostgroup: group }),
    refresh: isRefresh,
    ...(blockRefusal === null ? {} : { source_block_refused: blockRefusalText(blockRefusal) }),
  };
}
