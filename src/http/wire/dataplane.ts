/**
 * What is dropped on this machine, in the status (docs/interface.md#status-dataplane): where, how much, and what is in
 * the kernel.
 */
import { type Static, Type } from "@sinclair/typebox";
import type { DataPlaneView } from "../../dataplane/data-plane.ts";
import type { Item } from "../../machine/item.ts";
import { omitNulls } from "./omit-nulls.ts";

const closed = { additionalProperties: false } as const;
const count = Type.Integer({ minimum: 0 });

export const DataplaneWire = Type.Object(
  {
    /** `failed`: `error` says why, and it is tried again; `dry_run` and `disabled`: nothing is in the kernel. */
    state: Type.Union([Type.Literal("up"), Type.Literal("failed"), Type.Literal("dry_run"), Type.Literal("disabled")]),
    error: Type.Optional(Type.String()),
    /** While it is up, as all below. */
    interfaces: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          state: Type.Union([Type.Literal("attached"), Type.Literal("failed")]),
          /** `native`, `generic`, or `generic (why not native)`. */
          mode: Type.Optional(Type.String()),
          error: Type.Optional(Type.String()),
        },
        closed,
      ),
    ),
    schema: Type.Optional(count),
    pairs: Type.Optional(count),
    rules: Type.Optional(count),
    max_dynamic_rules: Type.Optional(count),
    /** Rules of bans for which there is no room; absent where there is for all. */
    rules_left_out: Type.Optional(count),
    /** Since the maps were made, which may be longer ago than this process. */
    verdicts: Type.Optional(Type.Record(Type.String(), Type.Object({ packets: count, bytes: count }, closed))),
    /**
     * What this machine lacked for the whole configuration when it was looked at last, at the start or at a reload, in dry
     * run too; absent while nobody has looked. `remedy` has commands in backticks, and is absent where none is known.
     */
    problems: Type.Optional(
      Type.Array(
        Type.Object(
          {
            about: Type.String(),
            level: Type.Union([Type.Literal("warning"), Type.Literal("error")]),
            found: Type.String(),
            remedy: Type.Optional(Type.String()),
          },
          closed,
        ),
      ),
    ),
  },
  closed,
);
export type Dropping = Static<typeof DataplaneWire>;

export function dataplaneToWire(
  { state, error, filter, rulesLeftOut }: DataPlaneView,
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
    rules_left_out: rulesLeftOut || null,
    verdicts: filter === null ? null : { ...filter.verdicts },
    problems: problems === null ? null : problems.flatMap(problemToWire),
  });
}

function problemToWire({ about, level, found, remedy }: Item): NonNullable<Dropping["problems"]> {
  return level === "ok" ? [] : [omitNulls({ about, level, found, remedy })];
}
