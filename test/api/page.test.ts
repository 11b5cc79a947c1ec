/** docs/interface.md holds what the code says: every route, every field and every error, with examples that are valid. */
import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { AttackWire } from "../../src/http/wire/attack.ts";
import { AuditWire } from "../../src/http/wire/audit.ts";
import { BanWire } from "../../src/http/wire/ban.ts";
import { EdgeHistoryWire } from "../../src/http/wire/edge/history.ts";
import { LeverWire } from "../../src/http/wire/edge/lever.ts";
import { EdgeInventoryWire } from "../../src/http/wire/edge/node.ts";
import { EdgeReportWire } from "../../src/http/wire/edge/report.ts";
import { FleetStatusWire } from "../../src/http/wire/edge/status.ts";
import { ZoneDocumentWire } from "../../src/http/wire/edge/zone.ts";
import { FilterRuleWire } from "../../src/http/wire/filter-rule.ts";
import { ProtectionWire } from "../../src/http/wire/protection.ts";
import { FlowspecWire } from "../../src/http/wire/rule.ts";
import { RuleDocumentWire } from "../../src/http/wire/scrub-document.ts";
import { ScrubInventoryWire, ScrubReportWire } from "../../src/http/wire/scrub-node.ts";
import { SourceBlockWire } from "../../src/http/wire/source-block.ts";
import { StatusWire } from "../../src/http/wire/status.ts";
import { HostWire } from "../../src/http/wire/traffic/host.ts";
import { SampleWire } from "../../src/http/wire/traffic/sample.ts";
import { TestServer } from "../fixtures/http/http.ts";

const PAGE = readFileSync(new URL("../../docs/interface.md", import.meta.url), "utf8");
const REFUSALS = readFileSync(new URL("../../src/http/refusal.ts", import.meta.url), "utf8");

/** Resources with an example, by their anchors. */
const EXAMPLES: Readonly<Record<string, TSchema>> = {
  status: StatusWire,
  attack: AttackWire,
  host: HostWire,
  ban: BanWire,
  "audit-event": AuditWire,
  "source-block": SourceBlockWire,
  "rule-document": RuleDocumentWire,
  "scrub-report": ScrubReportWire,
  "scrub-inventory": ScrubInventoryWire,
  "zone-document": ZoneDocumentWire,
  "edge-report": EdgeReportWire,
  "edge-inventory": EdgeInventoryWire,
  "zone-status": FleetStatusWire,
  "edge-history": EdgeHistoryWire,
  protection: ProtectionWire,
  "filter-rule": FilterRuleWire,
  lever: LeverWire,
};

/** Resources without one, or whose parts are described elsewhere. */
const FIELDS: Readonly<Record<string, TSchema>> = { ...EXAMPLES, rule: FlowspecWire.items, sample: SampleWire };

const server = TestServer.started();
afterAll(() => server.http.stop());

/** From the anchor of a heading to that of the next. */
function sectionOf(anchor: string): string {
  const begin = PAGE.indexOf(`<a id="${anchor}"></a>\n#`);
  if (begin < 0) throw new Error(`no heading with the anchor ${anchor}`);
  const end = PAGE.slice(begin + 1).search(/^<a id="[^"]*"><\/a>\n#/m);
  return end < 0 ? PAGE.slice(begin) : PAGE.slice(begin, begin + 1 + end);
}

/** Names of an object's fields, and of the fields of its lists' items, but for rules, which are a resource of their own. */
function fieldsOf(schema: TSchema): string[] {
  if (schema["type"] === "array") return fieldsOf(schema["items"]);
  const properties: Record<string, TSchema> = schema["properties"] ?? {};
  return Object.entries(properties).flatMap(([name, field]) => [
    name,
    ...(field["type"] === "array" && name !== "flowspec" ? fieldsOf(field) : []),
  ]);
}

test.each(Object.entries(EXAMPLES))("the example of %s is valid", (anchor, schema) => {
  const [, json = ""] = /^```json\n([\s\S]*?)^```/m.exec(sectionOf(anchor)) ?? [];
  expect([...Value.Errors(schema, JSON.parse(json))].map(({ path, message }) => `${path}: ${message}`)).toEqual([]);
});

test.each(Object.entries(FIELDS))("%s has every field of its schema", (anchor, schema) => {
  const section = sectionOf(anchor);
  const isNamed = (field: string) => new RegExp(`[\`"{ ]${field}[\`":,}? ]`).test(section);
  expect(fieldsOf(schema).filter((field) => !isNamed(field))).toEqual([]);
});

test("every route is in the table of endpoints", () => {
  const table = sectionOf("endpoints");
  const lines = server.http.routes.map(({ method, path }) => `\`${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
  expect(lines.length).toBeGreaterThan(30);
  expect(lines.filter((line) => !table.includes(`${line}\``) && !table.includes(`${line}?`))).toEqual([]);
});

test("every error text is on the page", () => {
  const texts = [...REFUSALS.matchAll(/^.*?\b(?!kind)\w+: "([^"]* [^"]*|[a-z]+ing)",?/gm)].map(([, text = ""]) => text);
  expect(texts.length).toBeGreaterThan(25);
  expect(texts.filter((text) => !PAGE.includes(`\`${text}\``))).toEqual([]);
});
