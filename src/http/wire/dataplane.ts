/**
 * The data plane of this machine, in the status (docs/interface.md#status-dataplane): where and how much it drops, and
 * the contents of the kernel.
 */
import { type Static, Type } from "@sinclair/typebox";
import type { DataPlaneView } from "../../dataplane/data-plane.ts";
import type { ForwardStatus } from "../../dataplane/native.d.ts";
import type { Item } from "../../machine/item.ts";
import { leftOutInAll } from "../../mitigation/rules/room-limit.ts";
import { Count, closedObject, oneOf } from "../../schema/schema-forms.ts";
import { omitNulls } from "./omit-nulls.ts";

export const DataplaneWire = closedObject({
  /** `failed`: `error` has the cause, and it is tried again; `dry_run` and `disabled`: nothing is in the kernel. */
  state: oneOf("up", "failed", "dry_run", "disabled"),
  error: Type.Optional(Type.String()),
  /** Only while it is up, like the fields below. */
  interfaces: Type.Array(
    closedObject({
      name: Type.String(),
      state: oneOf("attached", "failed"),
      /** `native`, `generic`, or `generic (why not native)`. */
      mode: Type.Optional(Type.String()),
      error: Type.Optional(Type.String()),
    }),
  ),
  schema: Type.Optional(Count),
  pairs: Type.Optional(Count),
  rules: Type.Optional(Count),
  max_dynamic_rules: Type.Optional(Count),
  /** Rules of bans that do not fit into the kernel maps; absent if all fit. */
  rules_left_out: Type.Optional(Count),
  /** The same by the limit within which there is no room. */
  rules_left_out_by_limit: Type.Optional(
    closedObject({
      max_dynamic_rules: Type.Optional(Count),
      one_destination: Type.Optional(Count),
      detailed_matches: Type.Optional(Count),
    }),
  ),
  /** Destinations and attacked addresses that the operator's rules are not tried for; absent if there is room for all. */
  filter_rules_left_out: Type.Optional(Count),
  /** Since the maps were created, which may be before this process started. */
  verdicts: Type.Optional(Type.Record(Type.String(), closedObject({ packets: Count, bytes: Count }))),
  /** Only with `dataplane.forward: redirect`: what became of packets that passed, since this process started. */
  forward: Type.Optional(
    closedObject({
      outcomes: Type.Record(Type.String(), closedObject({ packets: Count, bytes: Count })),
      mss_clamped: Count,
      /** Interfaces that packets can be redirected to now. */
      egress: Type.Array(Type.String()),
      /** Packets to one destination share a look-up for some milliseconds, since nothing else decides their way. */
      keeps_routes: Type.Boolean(),
    }),
  ),
  /**
   * The lacks of this machine for the configuration at the last check, at the start or a reload, in dry run too;
   * absent while no check has finished. `remedy` has commands in backticks, and is absent if none is known.
   */
  problems: Type.Optional(
    Type.Array(
      closedObject({
        about: Type.String(),
        level: oneOf("warning", "error"),
        found: Type.String(),
        remedy: Type.Optional(Type.String()),
      }),
    ),
  ),
});
export type Dropping = Static<typeof DataplaneWire>;

export function dataplaneToWire(
  { state, error, filter, rulesLeftOut, filterRulesLeftOut }: DataPlaneView,
  problems: readonly Item[] | null,
): Dropping {
  return omitNulls({
    state,
    error,
    interfaces: (filter?.interfaces ?? []).map(({ name, state: port, mode, error: fault }) =>
      omitNulls({ name, state: port, mode, error: fault }),
    ),
    schema: filter?.schema ?? null,
    pairs: filter?.pairs ?? null,
    rules: filter?.rules ?? null,
    max_dynamic_rules: filter?.maxRules ?? null,
    rules_left_out: leftOutInAll(rulesLeftOut) || null,
    rules_left_out_by_limit: leftOutInAll(rulesLeftOut) === 0 ? null : { ...rulesLeftOut },
    filter_rules_left_out: filterRulesLeftOut || null,
    verdicts: filter === null ? null : { ...filter.verdicts },
    forward: filter?.forward ? forwardToWire(filter.forward) : null,
    problems: problems === null ? null : problems.flatMap(problemToWire),
  });
}

function forwardToWire({ outcomes, clamped, egress, keepsRoutes }: ForwardStatus): NonNullable<Dropping["forward"]> {
  return { outcomes: { ...outcomes }, mss_clamped: clamped, egress: [...egress], keeps_routes: keepsRoutes };
}

function problemToWire({ about, level, found, remedy }: Item): NonNullable<Dropping["problems"]> {
  return level === "ok" ? [] : [omitNulls({ about, level, found, remedy })];
}
