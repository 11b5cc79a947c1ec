/** The dashboard and the alerts in deploy/ ask for metrics and labels that exist, and the alerts fire when they should. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { filledMetrics } from "../fixtures/metrics.ts";

const DEPLOY = join(import.meta.dir, "../../deploy");
const RULES = join(DEPLOY, "prometheus/floodwall.rules.yml");
const RULE_TESTS = ["rules", "rules.day"].map((name) => join(DEPLOY, `prometheus/floodwall.${name}.test.yml`));

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const rules = (parse(readFileSync(RULES, "utf8")) as { groups: { rules: Rule[] }[] }).groups.flatMap((g) => g.rules);
const dashboard = JSON.parse(readFileSync(join(DEPLOY, "grafana/floodwall.json"), "utf8")) as {
  panels: Panel[];
  templating: { list: { query: unknown }[] };
};
const targets = dashboard.panels.flatMap((panel) => panel.targets ?? []);
type Series = Readonly<{ series: string }>;
type Case = Readonly<{ alertname: string; exp_alerts: readonly unknown[] }>;
type Group = Readonly<{ input_series: readonly Series[]; alert_rule_test: readonly Case[] }>;
const ruleTests = RULE_TESTS.flatMap((file) => (parse(readFileSync(file, "utf8")) as { tests: Group[] }).tests);
/** What the tests of the alerts pretend that the service exposes. */
const series = ruleTests.flatMap((group) => group.input_series.map((input) => input.series));
const expressions = [...rules.map(({ expr }) => expr), ...targets.map(({ expr }) => expr), ...series];

/** What Prometheus adds to each series; `le` is a histogram's own. */
const ADDED_LABELS = ["instance", "job"];

/** Labels by the name of the series, as the service exposes them. */
async function exposed(): Promise<Map<string, Set<string>>> {
  const labels = new Map<string, Set<string>>([["up", new Set(ADDED_LABELS)]]);
  for (const line of (await filledMetrics().text()).split("\n")) {
    const [, name, inner = ""] = /^([a-z_0-9]+)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === undefined) continue;
    const known = labels.get(name) ?? new Set(ADDED_LABELS);
    for (const [, label = ""] of inner.matchAll(/([a-z_]+)="/g)) known.add(label);
    labels.set(name, known);
  }
  return labels;
}

function metricsIn(expression: string): string[] {
  return [...expression.matchAll(/\b(?:svc|nodejs|process)_[a-z0-9_]+|\bup\b/g)].map(([name]) => name);
}

/** In selectors, `by` clauses, and the `{{…}}` of legends and summaries. */
function labelsIn(text: string): string[] {
  const selected = [...text.matchAll(/\{([^{}]*)\}/g)].flatMap(([, inner = ""]) =>
    [...inner.matchAll(/([a-z_]+)\s*(?:=~|!=|!~|=)/g)].map(([, label = ""]) => label),
  );
  const grouped = [...text.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, inner = ""]) => inner.split(/,\s*/));
  const shown = [...text.matchAll(/\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}/g)].map(([, label = ""]) => label);
  return [...selected, ...grouped, ...shown];
}

describe("dashboard and alerts", () => {
  test("are read: metrics and labels are seen", () => {
    const expression = 'sum by (instance, le) (rate(svc_a_bucket{state!="x", b=~"y"}[5m])) + up';
    expect(metricsIn(expression)).toEqual(["svc_a_bucket", "up"]);
    expect(labelsIn(`${expression} {{ $labels.channel }} of {{route}}`)).toEqual([
      "state",
      "b",
      "instance",
      "le",
      "channel",
      "route",
    ]);
    expect(rules.length).toBeGreaterThan(20);
    expect(targets.length).toBeGreaterThan(40);
  });

  test("ask for metrics that exist", async () => {
    const known = await exposed();
    const unknown = expressions.flatMap(metricsIn).filter((name) => !known.has(name));
    expect(unknown).toEqual([]);
  });

  test("ask for labels that the metrics of the expression have", async () => {
    const known = await exposed();
    const texts = [
      ...rules.map(({ expr, annotations }) => ({ expr, text: `${expr} ${annotations.summary}` })),
      ...targets.map(({ expr, legendFormat }) => ({ expr, text: `${expr} ${legendFormat}` })),
      ...series.map((expr) => ({ expr, text: expr })),
    ];
    const faults = texts.filter(({ expr, text }) => {
      const has = new Set(metricsIn(expr).flatMap((name) => [...(known.get(name) ?? [])]));
      return !labelsIn(text).every((label) => has.has(label));
    });
    expect(faults).toEqual([]);
  });
});

test("the dashboard's panels lie beside each other, each with its own number and a metric", () => {
  const { panels } = dashboard;
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(panels.filter(({ type, targets }) => type !== "row" && !targets?.length)).toEqual([]);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
});

test("every alert has a test in which it fires and one in which it does not", () => {
  const cases = ruleTests.flatMap((group) => group.alert_rule_test);
  const fired = (fires: boolean) => cases.filter(({ exp_alerts: alerts }) => alerts.length > 0 === fires);
  for (const some of [fired(true), fired(false)]) {
    expect(some.map(({ alertname }) => alertname).sort()).toEqual(rules.map(({ alert }) => alert).sort());
  }
});

const promtool = Bun.which("promtool");
const skipped = promtool === null ? " (skipped: promtool is not installed)" : "";

test.skipIf(promtool === null).each([
  ["check", [RULES]],
  ["test", RULE_TESTS],
])(`promtool %s rules${skipped}`, async (command, files) => {
  const run = Bun.spawn([promtool ?? "", command, "rules", ...files], { stdout: "pipe", stderr: "pipe" });
  const output = `${await run.stdout.text()}${await run.stderr.text()}`;
  expect({ code: await run.exited, output }).toMatchObject({ code: 0, output: expect.stringContaining("SUCCESS") });
});
