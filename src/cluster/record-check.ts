/** Checks what another brain sends as an order, before anything is done with it. */
import { Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { BODY_BYTES_MAX } from "../limits.ts";
import { EndedBy, SHARED_TABLES, type SharedRecord, type SharedTable } from "./order-exchange.ts";
import type { OrderTable } from "./order-table.ts";

const KEY_CHARACTERS_MAX = 300;
const BRAIN_CHARACTERS_MAX = 63;
/** Twice the largest body of an order: thousands of records may wait for room. */
const RECORD_CHARACTERS_MAX = 2 * BODY_BYTES_MAX;
/** For tables that have thousands of orders, each of a few short texts; further fields are those of a newer build. */
const SMALL_CHARACTERS_MAX = 8192;
const IS_SMALL: Readonly<Record<SharedTable, boolean>> = {
  ...{ source_blocks: true, protections: true, levers: true },
  ...{ bans: false, filter_rules: false, maintenance: false },
};

const Shape = Type.Object({
  table: Type.Unsafe<SharedTable>(Type.Union(SHARED_TABLES.map((table) => Type.Literal(table)))),
  key: Type.String({ minLength: 1, maxLength: KEY_CHARACTERS_MAX }),
  stamp: Type.Object({
    ms: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    brain: Type.String({ minLength: 1, maxLength: BRAIN_CHARACTERS_MAX }),
  }),
  record: Type.Unknown(),
  endedBy: Type.Optional(EndedBy),
  endedAtMs: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  clock: Type.Optional(Type.String({ minLength: 1, maxLength: BRAIN_CHARACTERS_MAX })),
});
const compiled = TypeCompiler.Compile(Shape);

/** null: it is none. What is in `record` is checked by its table: recordFault(). */
export function sharedRecordOf(value: unknown): SharedRecord | null {
  if (!compiled.Check(value)) return null;
  const { table, key, stamp, record, endedBy, endedAtMs, clock } = value;
  const end = { ...(endedBy && { endedBy }), ...(endedAtMs !== undefined && { endedAtMs }) };
  const ofClock = clock === undefined ? {} : { clock };
  return { table, key, stamp: { ms: stamp.ms, brain: stamp.brain }, record, ...end, ...ofClock };
}

/** null: the table can take the record. */
export function recordFault({ table: name, key, record, endedBy }: SharedRecord, table: OrderTable): string | null {
  if (!table.isKey(key)) return `${name}: a key that no order of the table has`;
  if (record === null) return null;
  if (endedBy !== undefined) return `${name} ${key}: in force and ended at once`;
  const most = IS_SMALL[name] ? SMALL_CHARACTERS_MAX : RECORD_CHARACTERS_MAX;
  if (JSON.stringify(record).length > most) return `${name} ${key}: a record that is too long`;
  return table.parse(record, key) === null ? `${name} ${key}: a record that cannot be read` : null;
}
