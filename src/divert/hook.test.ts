/** The hook as a program and as a web service. */
import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder } from "../../test/fixtures/folders.ts";
import { systemTimers } from "../system/timers.ts";
import type { HookConfig, HookTarget } from "./divert-config.ts";
import { askHook, type HookRequest } from "./hook.ts";

const directory = folder("hook");

const REQUEST: HookRequest = {
  ...{ action: "begin", id: "an-id", request_id: "a-request", prefix: "203.0.113.0/24", dry_run: false },
};
const config = (target: HookTarget, timeoutSeconds = 20): HookConfig => ({
  ...{
    target,
    timeoutSeconds,
    attempts: 1,
    confirmSeconds: 0,
    confirmEverySeconds: 60,
    retryAfterSeconds: 0,
    isDryRun: false,
  },
});
const around = (variables: Readonly<Record<string, string>> = {}) => ({
  environment: { read: (name: string) => variables[name] ?? null },
  wallMs: () => 1_700_000_000_000,
  timers: systemTimers,
});
const outcome = (asked: Promise<string>) => asked.catch((fault: unknown) => (fault as Error).message);

describe("a program", () => {
  const program = (lines: string) => {
    const command = join(directory, "hook");
    writeFileSync(command, `#!/bin/sh\ncat > ${directory}/got\n${lines}\n`);
    chmodSync(command, 0o755);
    return { kind: "command", command } as const;
  };

  test("gets the request as a line of JSON, and answers by its exit code", async () => {
    expect(await askHook(config(program("exit 0")), REQUEST, around())).toBe("done");
    expect(readFileSync(join(directory, "got"), "utf8")).toBe(`${JSON.stringify(REQUEST)}\n`);
    expect(await askHook(config(program("exit 75")), REQUEST, around())).toBe("not_yet");
    expect(await outcome(askHook(config(program("exit 3")), REQUEST, around()))).toBe("the program ended with code 3");
  });

  test("is killed when its time is over, and one that is not there has failed", async () => {
    const late = await outcome(askHook(config(program("sleep 60"), 1), REQUEST, around()));
    expect(late).toBe("no answer within 1 s");
    const none = await outcome(askHook(config({ kind: "command", command: "/no/such" }), REQUEST, around()));
    expect(none).toBe("the program could not be run: ENOENT");
  });
});

describe("a web service", () => {
  const target = { kind: "webhook", urlEnv: "URL", secretEnv: "KEY" } as const;

  test("gets a signed POST with the request's id, and answers by its status", async () => {
    let status = 200;
    const got: { readonly headers: Headers; readonly body: string }[] = [];
    const server = Bun.serve({
      ...{ port: 0, hostname: "127.0.0.1" },
      fetch: async (request) => {
        got.push({ headers: request.headers, body: await request.text() });
        return new Response("x", { status });
      },
    });
    const here = around({ URL: `http://127.0.0.1:${server.port}/divert`, KEY: "secret" });
    expect(await askHook(config(target), REQUEST, here)).toBe("done");
    const [{ headers, body } = { headers: new Headers(), body: "" }] = got;
    const mac = createHmac("sha256", "secret").update(`1700000000.${body}`).digest("hex");
    expect(headers.get("x-floodwall-signature")).toBe(`t=1700000000,v1=${mac}`);
    expect(headers.get("idempotency-key")).toBe("a-request");
    expect(JSON.parse(body)).toEqual(REQUEST);
    status = 202;
    expect(await askHook(config(target), REQUEST, here)).toBe("not_yet");
    for (status of [302, 404, 500]) {
      expect(await outcome(askHook(config(target), REQUEST, here))).toBe(`the hook answered ${status}`);
    }
    await askHook(
      config({ ...target, secretEnv: null }),
      REQUEST,
      around({ URL: here.environment.read("URL") ?? "" }),
    ).catch(() => {});
    expect(got.at(-1)?.headers.get("x-floodwall-signature")).toBeNull();
    await server.stop(true);
    expect(await outcome(askHook(config(target), REQUEST, here))).toStartWith("the request failed: ");
  });

  test("without its address or key has failed, and the error has neither", async () => {
    expect(await outcome(askHook(config(target), REQUEST, around()))).toContain("URL");
    const noKey = around({ URL: "http://127.0.0.1:9/secret-path" });
    expect(await outcome(askHook(config(target), REQUEST, noKey))).not.toContain("secret-path");
    const notHttp = around({ URL: "file:///etc/passwd", KEY: "k" });
    expect(await outcome(askHook(config(target), REQUEST, notHttp))).toContain("URL");
  });
});
