import { afterEach, describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { ManualClock } from "../../../test/fixtures/manual-clock.ts";
import { ANYONE, type Role } from "../../access/principal.ts";
import { NO_TENANTS } from "../../access/shares.ts";
import { BODY_BYTES_MAX } from "../../limits.ts";
import { afterPromises, nextTurn } from "../../system/timers.ts";
import { BackendFault } from "../backend.ts";
import type { CommandRoute, Route } from "../route.ts";
import { textAnswer } from "./answer.ts";
import { fieldCheck } from "./fields.ts";
import type { Gate } from "./gate.ts";
import { createApp, register } from "./pipeline.ts";
import { RequestShares } from "./request-shares.ts";
import { RequestTurns } from "./request-turns.ts";

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function gateFor(role: Role): Gate {
  return { ...openGate, admit: () => ({ ...ANYONE, operator: "tester", role }) };
}

const openGate: Gate = { refuseForeign: () => null, admit: () => ANYONE, admitLink: () => ANYONE, bind: () => null };
const refusingGate: Gate = { ...openGate, admit: () => ({ kind: "insufficient_role" }) };

/** A listener with these routes alone; keeps what the pipeline reports of requests. */
function listen(routes: readonly Route[], options: { gate?: Gate; isReady?: () => boolean } = {}) {
  const { gate = openGate, isReady = () => true } = options;
  const app = createApp();
  const clock = new ManualClock();
  const answered: string[] = [];
  const failures: unknown[] = [];
  register(app, routes, {
    gate,
    isReady,
    isDryRun: () => false,
    audit: null,
    clock,
    turns: new RequestTurns({ clock, nextTurn, afterPromises }),
    shares: new RequestShares(() => NO_TENANTS),
    metrics: {
      answered: ({ route, method, status }) => answered.push(`${route} ${method} ${status}`),
      failed: (route) => failures.push(route),
    },
    onFailure: (_, cause) => failures.push(cause),
  });
  app.listen({ hostname: "127.0.0.1", port: 0 });
  stops.push(async () => {
    await app.server?.stop(true);
    app.server = null;
  });
  return { base: `http://127.0.0.1:${app.server?.port}`, answered, failures };
}

function command(handle: CommandRoute<{ name: string }>["handle"] = () => textAnswer(200, "done")): Route {
  const body = fieldCheck(Type.Object({ name: Type.String() }, { additionalProperties: false }));
  return { name: "command", method: "POST", path: "/api/v1/command", access: "operator", body, handle };
}

function read(handle: () => Response, access: Role = "viewer"): Route {
  return { name: "read", method: "GET", path: "/api/v1/read", access, handle };
}

const JSON_TYPE = { "content-type": "application/json" };
const tooLarge = "x".repeat(BODY_BYTES_MAX + 1);

test("a caller whom the gate refuses learns nothing more", async () => {
  const { base } = listen([command()], { gate: refusingGate, isReady: () => false });
  const answer = await fetch(`${base}/api/v1/command`, { method: "POST", body: tooLarge });
  expect(answer.status).toBe(403);
});

test("handlers get the caller", async () => {
  const { base } = listen(
    [command(({ principal: { operator } }, { name }) => textAnswer(200, `${operator} ${name}`))],
    {
      gate: gateFor("operator"),
    },
  );
  const body = JSON.stringify({ name: "x" });
  const answer = await fetch(`${base}/api/v1/command`, { method: "POST", headers: JSON_TYPE, body });
  expect(await answer.text()).toBe("tester x");
});

describe("a handler that throws", () => {
  test("is answered without details; its cause is given to onFailure #errors-tell-nothing-of-the-inside", async () => {
    const cause = new Error("secret of the house");
    const thrower = read(() => {
      throw cause;
    });
    const { base, answered, failures } = listen([thrower]);
    const answer = await fetch(`${base}/api/v1/read`);
    expect(answer.status).toBe(500);
    expect(await answer.text()).toBe('{"error":"internal error"}');
    expect(failures).toEqual(["read", cause]);
    expect(answered).toEqual(["read GET 500"]);
  });

  test("may throw later, and from an open route", async () => {
    const route: Route = {
      name: "open",
      method: "GET",
      path: "/open",
      access: "open",
      handle: () => Promise.reject(new Error("later")),
    };
    const { base } = listen([route]);
    expect((await fetch(`${base}/open`)).status).toBe(500);
  });

  test("a fault of the world is 503 with what failed", async () => {
    const thrower = read(() => {
      throw new BackendFault("the state database cannot be written");
    });
    const { base, failures } = listen([thrower]);
    const answer = await fetch(`${base}/api/v1/read`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toEqual({ error: "the state database cannot be written" });
    expect(failures).toHaveLength(2);
  });
});

test("requests are counted by route, method and status, unknown ones together", async () => {
  const { base, answered } = listen([read(() => textAnswer(200, "seen"))]);
  await fetch(`${base}/api/v1/read`);
  await fetch(`${base}/api/v1/read`, { method: "HEAD" });
  await fetch(`${base}/api/v1/read`, { method: "DELETE" });
  await fetch(`${base}/api/v1/other`);
  expect(answered).toEqual(["read GET 200", "read HEAD 200", "unknown DELETE 404", "unknown GET 404"]);
});
