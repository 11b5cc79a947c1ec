import { describe, expect, test } from "bun:test";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import { type LogLevel, openLog } from "./log.ts";

function openTestLog(level: LogLevel = "debug") {
  const lines: string[] = [];
  const log = openLog({ level, clock: new ManualClock(), destination: { write: (line) => lines.push(line) } });
  const entries = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { log, lines, entries };
}

describe("the log", () => {
  test("writes one line of JSON with time, level, fields and message", () => {
    const { log, lines, entries } = openTestLog();
    log.child({ component: "bgp" }).warn({ neighbor: "192.0.2.1" }, "session lost");
    expect(lines[0]?.endsWith("}\n")).toBe(true);
    expect(entries()).toEqual([
      {
        level: "warn",
        time: "2026-03-01T12:00:00.000Z",
        component: "bgp",
        neighbor: "192.0.2.1",
        msg: "session lost",
      },
    ]);
  });

  test("leaves out what is below its level", () => {
    const { log, entries } = openTestLog("warn");
    log.debug({}, "a");
    log.info({}, "b");
    log.warn({}, "c");
    log.error({}, "d");
    expect(entries().map(({ msg }) => msg)).toEqual(["c", "d"]);
  });

  test("logs an error with its stack and causes", () => {
    const { log, entries } = openTestLog();
    log.error({ cause: new Error("write failed", { cause: new Error("disk full") }) }, "state not kept");
    const cause = entries()[0]?.["cause"] as { message: string; stack: string };
    expect(cause.message).toContain("write failed");
    expect(cause.message).toContain("disk full");
    expect(cause.stack).toContain("log.test.ts");
  });

  test("writes a thrown value that is no error as text", () => {
    const { log, entries } = openTestLog();
    log.error({ cause: null }, "odd");
    expect(entries()[0]?.["cause"]).toBe("null");
  });

  test.each(["authorization", "token", "secret", "password", "key_authorization"])("blots out %s", (name) => {
    const { log, lines } = openTestLog();
    log.info({ [name]: "hunter2", request: { [name]: "hunter2" } }, "request");
    log.child({ [name]: "hunter2" }).info({}, "child");
    expect(lines.join("")).not.toContain("hunter2");
    expect(lines.join("")).toContain("[redacted]");
  });
});
