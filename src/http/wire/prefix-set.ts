/** Named sets of prefixes on the wire. */
import { type Static, Type } from "@sinclair/typebox";
import type { PrefixSetView } from "../../prefixset/prefix-sets.ts";
import { Count, closedObject, oneOf } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { omitNulls } from "./omit-nulls.ts";

export const PrefixSetWire = closedObject({
  name: Type.String(),
  kind: oneOf("list", "mmdb", "builtin"),
  /** Absent: the set is built in, and so are the next two of it. */
  file: Type.Optional(Type.String()),
  file_changed_at: Type.Optional(Timestamp),
  age_seconds: Type.Optional(Count),
  countries: Type.Optional(Type.Array(Type.String())),
  autonomous_systems: Type.Optional(Type.Array(Type.Integer())),
  prefixes: Count,
  /** SHA-256 of the file that the prefixes are from. Absent, as read_at: there are none, and rules with this set are not in force. */
  hash: Type.Optional(Type.String()),
  read_at: Type.Optional(Timestamp),
  /** Why the file as it is now is not in use; absent: it is. */
  error: Type.Optional(Type.String()),
});
export type PrefixSetWire = Static<typeof PrefixSetWire>;

export const PrefixSetsWire = closedObject({ prefix_sets: Type.Array(PrefixSetWire) });

export function prefixSetToWire(view: PrefixSetView, nowMs: number): PrefixSetWire {
  const { config, prefixes, hash, fileChangedMs, readMs, error } = view;
  const { name, source } = config;
  const age = fileChangedMs === null ? null : Math.max(0, Math.floor((nowMs - fileChangedMs) / 1000));
  const origins = source.kind === "mmdb" ? source : { countries: [], autonomousSystems: [] };
  return omitNulls({
    name,
    kind: source.kind,
    file: source.kind === "builtin" ? null : source.path,
    file_changed_at: fileChangedMs === null ? null : timestamp(fileChangedMs),
    age_seconds: age,
    countries: origins.countries.length === 0 ? null : [...origins.countries],
    autonomous_systems: origins.autonomousSystems.length === 0 ? null : [...origins.autonomousSystems],
    prefixes,
    hash,
    read_at: readMs === null ? null : timestamp(readMs),
    error,
  });
}
