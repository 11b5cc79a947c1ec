import { expect, test } from "bun:test";
import { remarkOf, tableOf } from "./step-table.ts";

const row = { suite: "trixie", part: "tree", step: "make lab", ok: true, seconds: 61.04, log: "a.log", remark: "" };

test("a row for each step, in columns, with what failed in capitals", () => {
  expect(tableOf([row, { ...row, step: "make test", ok: false, seconds: 1234.56, remark: "1 passed" }])).toEqual([
    "suite   system  step       result  seconds  remarks",
    "trixie  tree    make lab   ok         61.0",
    "trixie  tree    make test  FAILED   1234.6  1 passed",
  ]);
});

test("counts, versions and lacking packages are taken out of a step's output, and nothing else", () => {
  const skips = "this release of Debian has no clickhouse-server: tests that need it are skipped, and named\n";
  expect(
    remarkOf(
      `${skips}Linux 6.1.0, npm 9.2.0\n== TypeScript tests\n 7 pass\n\n5000 passed (2 of them when repeated), 0 failed, 3 skipped\n`,
    ),
  ).toBe("5000 passed (2 of them when repeated), 0 failed, 3 skipped; no clickhouse-server");
  expect(remarkOf("Linux 6.1.0, npm 9.2.0, g++ 12.2.0\n")).toBe("Linux 6.1.0, npm 9.2.0, g++ 12.2.0");
  expect(remarkOf("floodwall 0.1.0~20261122\nfloodwall-scrub 0.1.0\n")).toBe("floodwall 0.1.0~20261122");
  expect(remarkOf("building the dashboard\n")).toBe("");
});
