/** What a browser loads before it shows anything. */
import { expect, test } from "bun:test";
import { readDashboard } from "../../src/http/server/dashboard-files.ts";

const START_BYTES_MAX = 240 * 1000;

test("the page starts with less than 240 KB, compressed", () => {
  const files = readDashboard();
  const page = files?.get("/");
  if (files === null || page === undefined) throw new Error("the dashboard is not built: run `make dashboard`");
  const text = new TextDecoder().decode(page.bytes.identity);
  const named = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = ""]) => path);
  expect(named.some((path) => path.endsWith(".js"))).toBe(true);
  expect(named.some((path) => path.endsWith(".css"))).toBe(true);
  const sizes = named.map((path) => files.get(path)?.bytes.gzip.length ?? Number.NaN);
  const start = sizes.reduce((sum, size) => sum + size, page.bytes.gzip.length);
  // One language beside English is loaded, if any: the texts of the page, and those of the service.
  const languages = ["de", "fr", "es", "ru"].map((code) => {
    const catalogues = [...files].filter(([path]) => path.startsWith(`/assets/${code}-`));
    expect(catalogues).toHaveLength(2);
    return catalogues.reduce((sum, [, { bytes }]) => sum + bytes.gzip.length, 0);
  });
  const language = Math.max(...languages);
  console.log(`the dashboard starts with ${start} bytes (gzip), and ${language} for the largest language`);
  expect(start + language).toBeLessThan(START_BYTES_MAX);
});
