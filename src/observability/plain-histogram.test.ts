import { expect, test } from "bun:test";
import { Histogram, Registry } from "prom-client";
import { PlainHistogram } from "./plain-histogram.ts";

test("its text is that of the library's histogram", async () => {
  const described = { name: "svc_seconds", help: "Time, in seconds." };
  const buckets = [0.001, 0.5, 35];
  const [plain, library] = [new Registry(), new Registry()];
  const own = new PlainHistogram(plain, { ...described, label: "route", buckets });
  const theirs = new Histogram({ ...described, labelNames: ["route"], buckets, registers: [library] });
  expect(await plain.metrics()).toBe(await library.metrics());
  for (const [i, seconds] of [0, 0.001, 0.0011, 0.25, 0.5, 36, 35].entries()) {
    const route = i % 2 === 0 ? "ban" : 'a "route"';
    own.observe(route, seconds);
    theirs.observe({ route }, seconds);
  }
  expect(await plain.metrics()).toBe(await library.metrics());
  expect(await plain.getSingleMetricAsString("svc_seconds")).toContain('svc_seconds_count{route="ban"} 4');
});
