import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { TableFilters } from "../../test/fixtures/dataplane/table-filter.ts";
import { warnOfPinnedFilters } from "./dataplane.ts";

function warnings(kernel: Pick<TableFilters, "readPinned">, pinPath = tmpdir()): unknown[] {
  const lines: unknown[] = [];
  warnOfPinnedFilters({ kernel, pinPath, log: { warn: (fields: unknown) => lines.push(fields) } });
  return lines;
}

test("a service without a data plane reports what one before it left in force", () => {
  const kernel = new TableFilters();
  expect(warnings(kernel)).toEqual([]);
  kernel.pinned = "healthy";
  expect(warnings(kernel)).toEqual([{ pin_path: tmpdir(), state: "healthy", pairs: 0, rules: 0 }]);
  expect(warnings(kernel, "/nowhere/pins")).toEqual([]);
});

test("and not of what another process keeps in force, nor of what it may not look at", () => {
  const kernel = new TableFilters();
  const owned = { ...kernel.readPinned(), state: "healthy", isOwned: true } as const;
  expect(warnings({ readPinned: () => owned })).toEqual([]);
  const readPinned = () => {
    throw new Error("not permitted");
  };
  expect(warnings({ readPinned })).toEqual([]);
});
