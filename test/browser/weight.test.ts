/** What a browser loads before it shows anything. */
import { expect, test } from "bun:test";
import { readDashboard } from "../../src/http/server/dashboard-files.ts";

const START_BYTES_MAX = 220 * 1000;

test("the page starts with less than 220 KB, compressed", () => {
  const files = readDashboard();
  const page = files?.get("/");
  if (files === null || page === undefined) throw new Error("the dashboard is not built: run `make dashboard`");
  const text = new TextDecoder().decode(page.bytes.identity);
  const named = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = ""]) => path);
  expect(named.some((path) => path.endsWith(".js"))).toBe(true);
  expect(named.some((path) => path.endsWith(".css"))).toBe(true);
  const sizes = named.map((path) => files.get(path)?.bytes.gzip.length ?? Number.NaN);
  const start = sizes.reduce((sum, size) => sum + size, page.bytes.gzip.length);
  // One language beside English is loaded, if any.
  const languages = [...files.keys()].filter((path) => /^\/assets\/(de|fr|es|ru)-/.test(path));
  expect(languages).toHaveLength(4);
  const language = Math.max(...languages.map((path) => files.get(path)?.bytes.gzip.length ?? Number.NaN));
  console.log(`the dashboard starts with ${start} bytes (gzip), and ${language} for the largest language`);
  expect(start + language).toBeLessThan(START_BYTES_MAX);
});
