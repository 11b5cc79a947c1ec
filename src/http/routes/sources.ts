/** The source blocks and their two commands (docs/interface.md#source-block-command). */

import type { Static } from "@sinclair/typebox";
import { SOURCE_BLOCK_REASON_MAX, SOURCE_BLOCK_SECONDS_MAX } from "../../limits.ts";
import { addressFamily, parseAddress } from "../../net/address.ts";
import { type Pair, pairName } from "../../sourceblock/source-block.ts";
import type { Done, SourceBlockView } from "../../sourceblock/source-blocks.ts";
import type { Backend } from "../backend.ts";
import { during, type Filters, filterOf, isFault, named, within } from "../filters.ts";
import { ListReader } from "../list-reader.ts";
import { type ListViewing, ListViews, TOO_MANY_PAGES } from "../list-views.ts";
import type { Refusal } from "../refusal.ts";
import type { AuditRule, Call, CommandRoute, Outcome, ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { fieldCheck } from "../server/fields.ts";
import { SourceBlockPreviewWire, sourceBlockPreviewToWire } from "../wire/order-effect.ts";
import { commanderOf } from "../wire/order-end-reason.ts";
import { plainTextFault } from "../wire/plain-text.ts";
import {
  SourceBlockFields,
  SourceBlockRequest,
  SourceBlocksWire,
  SourceBlockWire,
  SourceUnblockFields,
  SourceUnblockRequest,
  sourceBlockToWire,
} from "../wire/source-block.ts";

type BlockFields = Static<typeof SourceBlockFields>;
type UnblockFields = Static<typeof SourceUnblockRequest>;

export function sourcesRoute(backend: Backend, viewing: ListViewing): ReadRoute {
  const filters: Filters<SourceBlockView> = {
    target: within("Only of this victim, or of victims inside this prefix.", ({ block }) => [block.victim]),
    source: within("Only of this source, or of sources inside this prefix.", ({ block }) => [block.source]),
    group: named("Only of victims of this hostgroup.", ({ block }) => backend.tenancy().groupOf(block.victim)),
    tenant: named("Only of victims of this tenant.", ({ block }) => backend.tenancy().tenantOf(block.victim)),
    ...during<SourceBlockView>(({ block }) => ({ start: block.createdAt, end: block.expiresAt })),
  };
  const blocks = new ListViews(() => backend.sourceBlocks(), viewing, filters);
  return {
    name: "sources",
    method: "GET",
    path: "/api/v1/dataplane/sources",
    access: "viewer",
    about: {
      summary: "Source blocks in force, the oldest first",
      query: filters,
      answers: { 200: { text: "The blocks.", schema: SourceBlocksWire }, ...TOO_MANY_PAGES },
    },
    handle: (call) => {
      const { principal, query } = call;
      const isWanted = filterOf(filters, query);
      if (isFault(isWanted)) return isWanted;
      const isOwn = ({ block }: SourceBlockView) => backend.tenancy().owns(principal, block.victim);
      const toWire = (view: SourceBlockView) => (isOwn(view) && isWanted(view) ? sourceBlockToWire(view) : null);
      return blocks.answer(call, () => new ListReader<SourceBlockView>("sources", toWire));
    },
  };
}

export function sourceBlockRoute(backend: Backend): CommandRoute<BlockFields> {
  return {
    name: "source_block",
    method: "POST",
    path: "/api/v1/dataplane/sources",
    access: "operator",
    body: { ...fieldCheck(SourceBlockFields), schema: SourceBlockRequest },
    about: {
      summary: "Drop the packets from a source to a victim for a time, or extend an existing block",
      answers: {
        200: { text: "The block.", schema: SourceBlockWire },
        409: { text: "There is no data plane, or policy refuses." },
      },
    },
    audit: auditOf("source_block"),
    handle: (call, fields) => {
      const { ttl_seconds: ttlSeconds } = fields;
      return onOwnVictim(backend, call, fields, ttlRefusal(ttlSeconds), async (pair) => {
        const order = { ...pair, ttlSeconds, reason: reasonOf(fields), by: call.principal };
        const answer = await backend.blockSource(order);
        if (answer.kind === "refused") return { kind: "source_block_refused", refusal: answer.refusal };
        const reason = orderedText(ttlSeconds, answer.view.block.reason);
        return outcomeOf(backend, answer, { result: "blocked", reason });
      });
    },
  };
}

export function sourceBlockPreviewRoute(backend: Backend): CommandRoute<BlockFields> {
  return {
    name: "source_block_preview",
    method: "POST",
    path: "/api/v1/dataplane/sources/preview",
    access: "operator",
    body: { ...fieldCheck(SourceBlockFields), schema: SourceBlockRequest },
    about: {
      summary: "What a block would do to the traffic of the last minute; nothing is done",
      answers: { 200: { text: "Whether it would be refused, and its effect.", schema: SourceBlockPreviewWire } },
    },
    handle: (call, fields) => {
      const { ttl_seconds: ttlSeconds } = fields;
      return onOwnVictim(backend, call, fields, ttlRefusal(ttlSeconds), (pair) => {
        const order = { ...pair, ttlSeconds, reason: reasonOf(fields), by: call.principal };
        const preview = backend.sourceBlockPreview(order, call.principal);
        return jsonAnswer(200, sourceBlockPreviewToWire(pair, preview));
      });
    },
  };
}

export function sourceUnblockRoute(backend: Backend): CommandRoute<UnblockFields> {
  return {
    name: "source_unblock",
    method: "POST",
    path: "/api/v1/dataplane/sources/unblock",
    access: "operator",
    body: { ...fieldCheck(SourceUnblockFields), schema: SourceUnblockRequest },
    about: {
      summary: "End the block of a source for a victim",
      answers: {
        200: { text: "The block that was removed.", schema: SourceBlockWire },
        404: { text: "The pair has no live block." },
        409: { text: "There is no data plane." },
      },
    },
    audit: auditOf("source_unblock"),
    handle: (call, fields) =>
      onOwnVictim(backend, call, fields, null, async (pair) => {
        const answer = await backend.unblockSource(pair, commanderOf(call, { reason: reasonOf(fields) }));
        if (answer.kind === "done") return outcomeOf(backend, answer, { result: "removed", reason: reasonOf(fields) });
        if (answer.refusal === "not_blocked") return { kind: "no_source_block" };
        return { kind: "source_block_refused", refusal: answer.refusal };
      }),
  };
}

/**
 * Bad input is refused first, then a foreign victim, then what the current state forbids
 * (docs/interface.md#order-of-checks).
 */
function onOwnVictim<Answer>(
  backend: Backend,
  { principal }: Call,
  fields: UnblockFields,
  refusal: Refusal | null,
  act: (pair: Pair) => Answer,
): Refusal | Answer {
  const pair = readPair(fields);
  if ("kind" in pair) return pair;
  const badInput = refusal ?? reasonRefusal(reasonOf(fields));
  if (badInput !== null) return badInput;
  return backend.tenancy().owns(principal, pair.victim) ? act(pair) : { kind: "foreign_target" };
}

function readPair(fields: UnblockFields): Pair | Refusal {
  const victim = parseAddress(fields.victim);
  if (victim === null) return { kind: "invalid_ip", text: fields.victim };
  const source = parseAddress(fields.source);
  if (source === null) return { kind: "invalid_ip", text: fields.source };
  if (addressFamily(victim) === addressFamily(source)) return { source, victim };
  return { kind: "invalid_body", detail: "victim and source are of different address families" };
}

function ttlRefusal(seconds: number): Refusal | null {
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= SOURCE_BLOCK_SECONDS_MAX) return null;
  return { kind: "invalid_body", detail: `ttl_seconds must be a whole number from 1 to ${SOURCE_BLOCK_SECONDS_MAX}` };
}

/** Half of a surrogate pair would be stored as another character by the databases. */
function reasonOf({ reason = "" }: UnblockFields): string {
  return reason.toWellFormed();
}

function reasonRefusal(reason: string): Refusal | null {
  const detail = plainTextFault("reason", reason, SOURCE_BLOCK_REASON_MAX);
  return detail === null ? null : { kind: "invalid_body", detail };
}

/** `for 3600 s: ticket 7`; the row's target says the rest. */
function orderedText(ttlSeconds: number, reason: string): string {
  return `for ${ttlSeconds} s${reason === "" ? "" : `: ${reason}`}`;
}

async function outcomeOf(
  backend: Pick<Backend, "settled">,
  { view, isSaved }: Done,
  end: Pick<Outcome, "result" | "reason">,
): Promise<Outcome> {
  const settled = await backend.settled(isSaved, "source_blocks", pairName(view.block));
  const response = jsonAnswer(200, sourceBlockToWire({ ...view, settled }));
  return { kind: "outcome", response, ...end, dryRun: view.dryRun };
}

/** Named as soon as both addresses can be read, whatever else is wrong with the request. */
function auditOf(action: "source_block" | "source_unblock"): AuditRule<UnblockFields> {
  return {
    action,
    targetType: "source",
    target: (_, fields) => {
      const [source, victim] = [parseAddress(fields?.source ?? ""), parseAddress(fields?.victim ?? "")];
      return source === null || victim === null ? "" : pairName({ source, victim });
    },
  };
}
