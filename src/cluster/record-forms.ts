/** The records of the tables that brains share, as far as another brain's are checked before their owner reads them. */

import { type TSchema, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { Lever } from "../edge/zones/levers.ts";
import type { WindowOrder } from "../mitigation/maintenance/maintenance-windows.ts";
import type { WindowTimes } from "../mitigation/maintenance/window.ts";
import type { RuleOrder } from "../mitigation/operator/filter-rules.ts";
import type { ProtectionChoice } from "../mitigation/protection/choice.ts";
import { parseAddress } from "../net/address.ts";
import { canonicalPrefix, parsePrefix } from "../net/prefix.ts";
import { oneOf } from "../schema/schema-forms.ts";
import { pairName, pairOfName, type SourceBlock } from "../sourceblock/source-block.ts";

const NAME_MAX = 300;
const TEXT_MAX = 2000;
/** Prefixes and hostgroups of a window. */
const ITEMS_MAX = 4096;

const Name = Type.String({ maxLength: NAME_MAX });
const Text = Type.String({ maxLength: TEXT_MAX });
/** Wall clock, ms. */
const Instant = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** For tables whose keys are names, of a rule, a zone or a window. */
export const isNameKey = (key: string): boolean => key.length <= NAME_MAX;

export const isPrefixKey = (key: string): boolean => parsePrefix(key)?.text === key;

export function isPairKey(key: string): boolean {
  const pair = pairOfName(key);
  return (
    pairName(pair) === key && parseAddress(pair.source) === pair.source && parseAddress(pair.victim) === pair.victim
  );
}

/** Fields that a newer build has are kept. */
function form<R>(
  schema: TSchema,
  isWhole: (record: R, key: string) => boolean,
): (value: unknown, key: string) => R | null {
  const compiled = TypeCompiler.Compile(schema);
  return (value, key) => (compiled.Check(value) && isWhole(value as R, key) ? (value as R) : null);
}

export const sourceBlockForm = form<SourceBlock>(
  Type.Object({
    ...{ source: Name, victim: Name, createdAt: Instant, expiresAt: Instant, reason: Text },
    ...{ operator: Type.Optional(Name), tenant: Type.Optional(Name) },
  }),
  (block, key) =>
    pairName(block) === key &&
    parseAddress(block.source) === block.source &&
    parseAddress(block.victim) === block.victim,
);

export const filterRuleForm = form<RuleOrder>(
  Type.Object({ name: Name, rule: Type.Object({}), createdAt: Instant, expiresAt: Instant, reason: Text }),
  ({ name }, key) => name === key,
);

export const protectionForm = form<ProtectionChoice>(
  Type.Object({
    ...{ prefix: Name, profile: Name, note: Text, operator: Name, chosenAt: Instant },
    always: Type.Union([Type.Null(), Type.Boolean()]),
    tenant: Type.Union([Type.Null(), Name]),
  }),
  ({ prefix }, key) => prefix === key && parsePrefix(prefix)?.text === prefix,
);

export const leverForm = form<Lever>(
  Type.Object({
    ...{ zone: Name, untilMs: Instant, ttlSeconds: Type.Integer({ minimum: 1 }), reason: Text },
    mode: oneOf("auto", "manual"),
  }),
  ({ zone }, key) => zone === key,
);

const Prefix = Type.Object({ text: Name, address: Name, length: Type.Integer(), family: Type.Integer() });
const windowShape = form<WindowOrder>(
  Type.Object({
    ...{ name: Name, createdAt: Instant, expiresAt: Instant, operator: Name },
    window: Type.Object({
      ...{ name: Name, watchOnly: Type.Boolean(), quiet: Type.Boolean(), reason: Text },
      thresholdFactor: Type.Number({ minimum: 1 }),
      prefixes: Type.Array(Prefix, { maxItems: ITEMS_MAX }),
      hostgroups: Type.Array(Name, { maxItems: ITEMS_MAX }),
      times: Type.Object({ kind: Type.Literal("once"), fromMs: Instant, untilMs: Instant }),
    }),
  }),
  ({ name, window }, key) =>
    name === key &&
    window.name === key &&
    isOnce(window.times) &&
    window.prefixes.every(({ text }) => parsePrefix(text)?.text === text),
);

function isOnce(times: WindowTimes): boolean {
  return times.kind === "once" && times.fromMs <= times.untilMs;
}

export function windowForm(value: unknown, key: string): WindowOrder | null {
  const order = windowShape(value, key);
  if (order === null) return null;
  const { window } = order;
  return { ...order, window: { ...window, prefixes: window.prefixes.map(({ text }) => canonicalPrefix(text)) } };
}
