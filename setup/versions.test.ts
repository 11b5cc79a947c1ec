import { expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findTool, refusal, type Tool } from "./versions.ts";

const CLANG: Tool = { name: "clang", command: ["clang", "--version"], package: "clang", minimum: "14.0" };

function clang(version: string | null): ReturnType<typeof refusal> {
  return refusal({ ...CLANG, path: "/opt/clang", version });
}

test("a tool older than its bound is refused by its path, with the remedy", () => {
  expect(clang("11.0.1")).toBe(
    "/opt/clang is clang 11.0.1, and 14.0 or newer is needed. Debian 12 has a newer one in its package clang: " +
      "install it, and have it come first in PATH",
  );
  expect(clang("9")).toContain("/opt/clang is clang 9, and");
  expect(clang("13.9.9")).not.toBeNull();
  expect(clang(null)).toContain("/opt/clang reports no version");
});

test("one at the bound or newer is taken, and so is one that has no bound or is not there", () => {
  for (const version of ["14", "14.0", "14.0.6", "14.1", "19.1.7", "100"]) expect(clang(version)).toBeNull();
  expect(refusal({ ...CLANG, minimum: null, path: "/opt/clang", version: null })).toBeNull();
  expect(refusal({ ...CLANG, path: null, version: null })).toBeNull();
});

test("the version is the first number that the program prints, wherever it prints it, or else its package's", async () => {
  const folder = mkdtempSync(join(tmpdir(), `floodwall-versions-${process.pid}-`));
  try {
    const program = join(folder, "clang");
    const tool = { ...CLANG, command: [program] };
    expect(await findTool(tool)).toMatchObject({ path: null, version: null });
    writeFileSync(program, "#!/bin/sh\necho 'Debian clang version 14.0.6' >&2\n");
    chmodSync(program, 0o755);
    expect(await findTool(tool)).toMatchObject({ path: program, version: "14.0.6" });
    writeFileSync(program, "#!/bin/sh\necho 'Unknown option specified: version' >&2; exit 1\n");
    expect(await findTool({ ...tool, package: "bash" })).toMatchObject({ version: expect.stringMatching(/^\d+\.\d/) });
    expect(await findTool({ ...tool, package: "no-such-package7" })).toMatchObject({ version: null });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
