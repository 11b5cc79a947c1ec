/**
 * Builds the web page with Vite, compresses each file, and writes all of them into one file that the service reads or
 * that a compiled executable contains. Called by `make dashboard`; `--directory` sets where the file is written.
 */
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { extname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build, type Rolldown } from "vite";
import { packagesOf } from "../deploy/packages.ts";
import type { BuiltDashboard } from "../src/http/server/dashboard-files.ts";

const { values } = parseArgs({
  options: { directory: { type: "string", default: join(import.meta.dir, "../build/dashboard") } },
});
const OUT = values.directory;
const PAGE = join(OUT, "page");

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const modules: string[] = [];
await build({
  configFile: false,
  root: import.meta.dir,
  publicDir: false,
  logLevel: "warn",
  plugins: [{ name: "modules", generateBundle: (_, bundle) => void modules.push(...modulesOf(bundle)) }],
  build: {
    outDir: PAGE,
    emptyOutDir: true,
    target: "es2024",
    // The page's content security policy forbids inline scripts, and each file is cached under its own name.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The weight of the page is bounded as it is sent: test/browser/weight.test.ts.
    chunkSizeWarningLimit: 1000,
  },
});
const files = readdirSync(PAGE, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => packed(join(entry.parentPath, entry.name)))
  .toSorted((a, b) => (a.path < b.path ? -1 : 1));
const built: BuiltDashboard = { packages: packagesOf(modules), files };
// A service that starts in the meantime finds either the complete old file or the complete new one.
const path = join(OUT, "files.json");
writeFileSync(`${path}.${process.pid}`, JSON.stringify(built));
renameSync(`${path}.${process.pid}`, path);

function modulesOf(bundle: Rolldown.OutputBundle): string[] {
  return Object.values(bundle).flatMap((part) => (part.type === "chunk" ? part.moduleIds : []));
}

function packed(file: string): BuiltDashboard["files"][number] {
  const name = relative(PAGE, file);
  const contentType = CONTENT_TYPES[extname(name)];
  if (contentType === undefined) throw new Error(`no content type is known for ${name}: add it to dashboard/build.ts`);
  const bytes = readFileSync(file);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  return {
    path: name === "index.html" ? "/" : `/${name}`,
    contentType,
    hash: new Bun.CryptoHasher("sha256").update(bytes).digest("hex").slice(0, 16),
    isHashed: name !== "index.html",
    br: brotliCompressSync(bytes, quality).toString("base64"),
    gzip: gzipSync(bytes, { level: 9 }).toString("base64"),
  };
}
