/** What the compiler and the linker put into the addon against attackers who find a fault in its memory. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { ROOT } from "../source-tree.ts";

const ADDON = join(ROOT, "build/addon/floodwall.node");

/** Of binutils, which the compiler needs too. */
function readelf(...options: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["readelf", "--wide", ...options, ADDON]);
  if (exitCode !== 0) throw new Error(`readelf ${options.join(" ")}: ${stderr.toString()}`);
  return stdout.toString();
}

test("its relocations are read-only and all resolved when it is loaded", () => {
  const [segments, dynamic] = [readelf("--segments"), readelf("--dynamic")];
  expect(segments).toMatch(/^ *GNU_RELRO /m);
  expect(dynamic).toMatch(/\(FLAGS\) +BIND_NOW/);
  expect(dynamic).toMatch(/\(FLAGS_1\) +Flags: NOW/);
  expect(dynamic).not.toContain("(TEXTREL)");
});

test("no part of its memory is writable and executable", () => {
  const flags = readelf("--segments").matchAll(/^ *(LOAD|GNU_STACK) .* ([R ][W ][E ]) 0x/gm);
  const found = [...flags].map(([, kind, flag]) => `${kind} ${flag}`);
  expect(found.filter((segment) => segment.startsWith("LOAD")).length).toBeGreaterThan(1);
  expect(found).toContain("GNU_STACK RW ");
  expect(found.filter((segment) => segment.endsWith("WE"))).toEqual([]);
});

test("its functions check their stack frames and the sizes of buffers", () => {
  const symbols = readelf("--dyn-syms");
  expect(symbols).toMatch(/ UND __stack_chk_fail\b/);
  expect(symbols).toMatch(/ UND __(?!stack)\w+_chk\b/);
});

test.skipIf(process.arch !== "x64")("it is marked for the processor's checks of calls and returns (x86)", () => {
  expect(readelf("--notes")).toMatch(/x86 feature: (IBT, )?SHSTK/);
  const entry = Bun.spawnSync(["objdump", "--disassemble=napi_register_module_v1", ADDON]).stdout.toString();
  expect(entry).toMatch(/<napi_register_module_v1>:\n.*\tendbr64/);
});
