/** The scrub rule document (docs/interface.md#rule-document) as canonical text: equal content has equal bytes. */
import { type Static, Type } from "@sinclair/typebox";
import { ruleToWire } from "../../mitigation/rules/rule.ts";
import { ScrubWire, scrubToWire } from "../../mitigation/scrub/scrub-wire.ts";
import { closedObject } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import type { DocumentBan, RuleDocument } from "../../scrub/rule-documents.ts";
import { Method } from "./ban.ts";
import { FlowspecWire } from "./rule.ts";

const DocumentBanWire = closedObject({
  target: Type.String(),
  prefix: Type.String(),
  method: Method,
  /** For a virtual ban, whose rules nodes never enforce. Otherwise absent. */
  dry_run: Type.Optional(Type.Literal(true)),
  expires_at: Timestamp,
  /** Absent: nothing distinguishes the attack from other traffic, or nothing that the node understands. */
  flowspec: Type.Optional(FlowspecWire),
  /** The node's filter beside these rules; absent: none. */
  scrub: Type.Optional(ScrubWire),
});

export const RuleDocumentWire = closedObject({ version: Type.Literal(1), bans: Type.Array(DocumentBanWire) });

/** Written once for each state of a ban: of thousands of bans, few change at a time. */
const TEXTS = new WeakMap<DocumentBan, string>();

export function ruleDocumentText({ bans }: RuleDocument): string {
  return `{"version":1,"bans":[${bans.map(banText).join()}]}`;
}

function banText(ban: DocumentBan): string {
  let text = TEXTS.get(ban);
  if (text === undefined) {
    text = JSON.stringify(banToWire(ban));
    TEXTS.set(ban, text);
  }
  return text;
}

function banToWire({ ban, expiresAt, forms: { rules } }: DocumentBan): Static<typeof DocumentBanWire> {
  return {
    target: ban.target,
    prefix: ban.prefix.text,
    method: ban.method,
    ...(ban.dryRun ? { dry_run: true } : {}),
    expires_at: timestamp(expiresAt),
    ...(rules.length === 0 ? {} : { flowspec: rules.map(ruleToWire) }),
    ...(ban.measure.filter === undefined ? {} : { scrub: scrubToWire(ban.prefix, ban.measure.filter) }),
  };
}
