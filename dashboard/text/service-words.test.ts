/** The catalogues of what the service says against its sources. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "vite";
import type { Catalogue } from "../language.ts";
import { translator } from "./service-words.ts";

/** The sources of sentences that the page shows. */
const SPEAKING = [
  ...["http/refusal", "http/wire/ban", "http/wire/ban-order", "http/wire/ban-preview"],
  ...["http/wire/filter-rule", "http/wire/maintenance", "http/wire/protection", "service/order-effects"],
  ...["mitigation/active-bans", "mitigation/admission", "mitigation/ban", "mitigation/ban-admission"],
  ...["mitigation/enclosing", "mitigation/measure", "mitigation/plan", "mitigation/policy", "mitigation/route-watch"],
  ...["mitigation/operator/rule-findings", "mitigation/order/order-policy", "mitigation/order/remedies"],
  ...["mitigation/protection/choice", "mitigation/rules/flowspec-support", "mitigation/scrub/filter-words"],
  ...["bgp/gobgp-announcer", "bgp/neighbor-policies", "bgp/route-ledger", "traffic/own-infrastructure"],
  ...["divert/diversions", "divert/hook", "notify/email", "notify/exec", "notify/http-post", "notify/reach"],
  ...["notify/secret", "notify/syslog", "notify/telegram"],
  ...["sourceblock/source-blocks", "telemetry/exporter-faults", "cluster/cluster-faults"],
];
/** Calls whose texts are for developers and logs. */
const SILENT = new Set(["log", "info", "warn", "error", "Error", "described"]);
/** At least two words. */
const SENTENCE = /[a-z]{2,}.* .*[a-z]{2,}/s;
/** Beside sentences two reasons of a single word. */
const KEYS = new Set([
  ...["whitelisted", "answered {0}"],
  ...SPEAKING.flatMap((name) => {
    const source = readFileSync(join(import.meta.dir, `../../src/${name}.ts`), "utf8");
    return sentencesIn(parseAst(source, { lang: "ts" }));
  }),
]);

describe.each(["de", "fr", "es", "ru"])("in %s", (code) => {
  const path = join(import.meta.dir, `../languages/service/${code}.json`);
  const catalogue = JSON.parse(readFileSync(path, "utf8")) as Catalogue;

  test("every sentence of the service has a translation with its values", () => {
    expect(KEYS.size).toBeGreaterThan(150);
    expect([...KEYS].filter((key) => !Object.hasOwn(catalogue, key))).toEqual([]);
    expect(Object.keys(catalogue).filter((key) => !KEYS.has(key))).toEqual([]);
    const places = (text: string) => (text.match(/\{\d+\}/g) ?? []).toSorted().join();
    const wrong = Object.entries(catalogue).filter(([key, text]) => text === "" || places(key) !== places(text));
    expect(wrong).toEqual([]);
  });

  test("no sentence is taken for another", () => {
    const of = translator(catalogue);
    const filled = (text: string) => text.replace(/\{(\d+)\}/g, (_, index: string) => `value-${index}`);
    const wrong = [...KEYS].filter((key) => of(filled(key)) !== filled(catalogue[key] ?? ""));
    expect(wrong).toEqual([]);
  });
});

test("a value that is a sentence itself is translated as well, and what is not known stays", () => {
  const of = translator({
    ...{ "bgp announce failed: {0}": "BGP: {0}", "takes no {0} routes": "nimmt keine Routen {0}" },
    ...{ "manual unban": "von Hand entsperrt", "is over": "ist vorbei", "must be {0}": "muss {0} sein" },
  });
  expect(of("bgp announce failed: takes no IPv4 flowspec routes")).toBe("BGP: nimmt keine Routen IPv4 flowspec");
  expect(of("bgp announce failed: connection reset")).toBe("BGP: connection reset");
  expect(of("ticket 7")).toBe("ticket 7");
  expect(of("manual unban: ticket 7")).toBe("von Hand entsperrt: ticket 7");
  expect(of("opens_at: is over")).toBe("opens_at: ist vorbei");
  expect(of("ttl_seconds must be 7")).toBe("ttl_seconds muss 7 sein");
});

function sentencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(sentencesIn);
  if (typeof value !== "object" || value === null || !("type" in value)) return [];
  const node = value as { readonly type: string; readonly [key: string]: unknown };
  if (["TSLiteralType", "ImportDeclaration"].includes(node.type) || SILENT.has(calleeOf(node))) return [];
  const text = textOf(node);
  const own = text !== null && SENTENCE.test(text) && !text.startsWith("bug: ") ? [keyOf(text)] : [];
  return [...own, ...Object.values(node).flatMap(sentencesIn)];
}

/** Without the field of an order that it is about. A text that ends in a colon has a value behind it. */
function keyOf(text: string): string {
  return text
    .replace(/^(?:opens_at: |rules: |template: |(?:reason|ttl_seconds) (?=must ))/, "")
    .replace(/: $/, ": {0}");
}

function textOf(node: { readonly type: string; readonly [key: string]: unknown }): string | null {
  if (node.type === "Literal") return typeof node["value"] === "string" ? node["value"] : null;
  if (node.type !== "TemplateLiteral") return null;
  const quasis = node["quasis"] as readonly { readonly value: { readonly cooked: string } }[];
  return quasis.map(({ value }) => value.cooked).reduce((key, text, index) => `${key}{${index - 1}}${text}`);
}

function calleeOf({ callee }: { readonly [key: string]: unknown }): string {
  const { name, property } = (callee ?? {}) as {
    readonly name?: string;
    readonly property?: { readonly name?: string };
  };
  return name ?? property?.name ?? "";
}
