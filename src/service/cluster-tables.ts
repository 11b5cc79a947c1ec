/** The tables of orders that brains share, each with its owner in the running service. */
import type { OrderTables } from "../cluster/order-table.ts";
import {
  filterRuleForm,
  isNameKey,
  isPairKey,
  isPrefixKey,
  leverForm,
  protectionForm,
  sourceBlockForm,
  windowForm,
} from "../cluster/record-forms.ts";
import { orderTable } from "../cluster/typed-table.ts";
import type { Lever, Levers } from "../edge/zones/levers.ts";
import {
  BAN_SECONDS_MAX,
  FILTER_RULE_SECONDS_MAX,
  LEVER_SECONDS_MAX,
  MAINTENANCE_AHEAD_SECONDS_MAX,
  MAINTENANCE_SECONDS_MAX,
  SOURCE_BLOCK_SECONDS_MAX,
} from "../limits.ts";
import { opensAt } from "../mitigation/maintenance/maintenance-windows.ts";
import { type BanOrderRecord, banOrderRecord, recordOfOrder } from "../mitigation/order/ban-order-record.ts";
import { pairName, type SourceBlock } from "../sourceblock/source-block.ts";
import type { Floodwall } from "./floodwall.ts";

/** Ends kept of a table, and of source blocks, of which there are more. */
const ENDED_MAX = 8192;
const ENDED_BLOCKS_MAX = 65_536;
/** A protection has no end of its own: a brain that was away for longer than this brings it back. */
const PROTECTION_LIFE_MS = 31_536_000_000;

type Owners = Pick<Floodwall, "bans" | "sourceBlocks" | "filterRules" | "protections" | "maintenance" | "now"> & {
  readonly levers: Levers;
};

export function clusterTables(owners: Owners): OrderTables {
  return {
    bans: banTable(owners),
    source_blocks: blockTable(owners),
    filter_rules: ruleTable(owners),
    protections: protectionTable(owners),
    levers: leverTable(owners),
    maintenance: windowTable(owners),
  };
}

/** By prefix: an unban also ends a ban that no operator ordered. */
function banTable({ bans: { operators } }: Owners): OrderTables["bans"] {
  const present = (prefix: string): BanOrderRecord | null => {
    const ban = operators.present(prefix);
    return ban === null ? null : recordOfOrder(ban);
  };
  const table = orderTable<BanOrderRecord>({
    ...{ lifeMs: BAN_SECONDS_MAX * 1000, endedMax: ENDED_MAX, parse: banOrderRecord, present, isKey: isPrefixKey },
    keyOf: ({ prefix }: { readonly prefix: string | { readonly text: string } }) =>
      typeof prefix === "string" ? prefix : prefix.text,
    all: () => operators.all().map(recordOfOrder),
    beganAt: ({ startedAt }) => startedAt,
    endsAt: ({ expiresAt }) => expiresAt,
    shifted: ({ startedAt, countedFrom, expiresAt, ...record }, byMs) => ({
      ...{ ...record, startedAt: startedAt + byMs, countedFrom: countedFrom + byMs, expiresAt: expiresAt + byMs },
    }),
    adopt: (record, wallMs) => operators.adopt(record, wallMs),
    endAdopted: () => {},
  });
  return {
    ...table,
    end: ({ key, endedAtMs, endedBy }, wallMs) => {
      const isNamed = endedBy !== null && endedBy.operator + endedBy.reason !== "";
      const by = endedBy === null ? null : isNamed ? endedBy : undefined;
      operators.endAdopted(key, { by, atMs: endedAtMs }, wallMs);
    },
  };
}

function blockTable({ sourceBlocks, now }: Owners): OrderTables["source_blocks"] {
  return orderTable<SourceBlock>({
    ...{
      lifeMs: SOURCE_BLOCK_SECONDS_MAX * 1000,
      endedMax: ENDED_BLOCKS_MAX,
      keyOf: pairName,
      parse: sourceBlockForm,
      isKey: isPairKey,
    },
    present: (name) => sourceBlocks.present(name),
    all: () => sourceBlocks.live(now().wallMs).map(({ block }) => block),
    beganAt: ({ createdAt }) => createdAt,
    endsAt: ({ expiresAt }) => expiresAt,
    shifted: (block, byMs) => ({ ...block, createdAt: block.createdAt + byMs, expiresAt: block.expiresAt + byMs }),
    adopt: (block, wallMs) => sourceBlocks.adopt(block, wallMs),
    endAdopted: (block) => sourceBlocks.endAdopted(block),
  });
}

function ruleTable({ filterRules }: Owners): OrderTables["filter_rules"] {
  return orderTable({
    ...{ lifeMs: FILTER_RULE_SECONDS_MAX * 1000, endedMax: ENDED_MAX, parse: filterRuleForm, isKey: isNameKey },
    keyOf: ({ name }) => name,
    present: (name) => filterRules.orders.get(name) ?? null,
    all: () => filterRules.orders.values(),
    beganAt: ({ createdAt }) => createdAt,
    endsAt: ({ expiresAt }) => expiresAt,
    shifted: (order, byMs) => ({ ...order, createdAt: order.createdAt + byMs, expiresAt: order.expiresAt + byMs }),
    adopt: (order) => filterRules.adopt(order),
    endAdopted: (order) => filterRules.endAdopted(order),
  });
}

function protectionTable({ protections }: Owners): OrderTables["protections"] {
  return orderTable({
    ...{ lifeMs: PROTECTION_LIFE_MS, endedMax: ENDED_MAX, parse: protectionForm, isKey: isPrefixKey },
    keyOf: ({ prefix }) => prefix,
    present: (prefix) => protections.choices.get(prefix) ?? null,
    all: () => protections.choices.values(),
    beganAt: ({ chosenAt }) => chosenAt,
    endsAt: () => null,
    shifted: (choice, byMs) => ({ ...choice, chosenAt: choice.chosenAt + byMs }),
    adopt: (choice) => protections.adopt(choice),
    endAdopted: (choice) => protections.endAdopted(choice),
  });
}

function leverTable({ levers }: Owners): OrderTables["levers"] {
  return orderTable<Lever>({
    ...{ lifeMs: LEVER_SECONDS_MAX * 1000, endedMax: ENDED_MAX, parse: leverForm, isKey: isNameKey },
    keyOf: ({ zone }) => zone,
    present: (zone) => levers.all.get(zone) ?? null,
    all: () => levers.all.values(),
    beganAt: ({ untilMs, ttlSeconds }) => untilMs - ttlSeconds * 1000,
    endsAt: ({ untilMs }) => untilMs,
    shifted: (lever, byMs) => ({ ...lever, untilMs: lever.untilMs + byMs }),
    adopt: (lever) => levers.adopt(lever),
    endAdopted: (lever) => levers.endAdopted(lever),
  });
}

function windowTable({ maintenance }: Owners): OrderTables["maintenance"] {
  return orderTable({
    lifeMs: (MAINTENANCE_AHEAD_SECONDS_MAX + MAINTENANCE_SECONDS_MAX) * 1000,
    ...{ endedMax: ENDED_MAX, parse: windowForm, isKey: isNameKey },
    keyOf: ({ name }) => name,
    present: (name) => maintenance.orders.get(name) ?? null,
    all: () => maintenance.orders.values(),
    beganAt: ({ createdAt }) => createdAt,
    endsAt: ({ expiresAt }) => expiresAt,
    // One that opens later has times of the clock, of whatever brain; that it does is seen by the time of its order. What
    // the others are open for is made of their end.
    shifted: (order, byMs) =>
      opensAt(order) === null
        ? { ...order, createdAt: order.createdAt + byMs, expiresAt: order.expiresAt + byMs }
        : order,
    adopt: (order) => maintenance.adopt(order),
    endAdopted: (order) => maintenance.endAdopted(order),
  });
}
