import { afterEach, beforeEach, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import * as callers from "../../../test/fixtures/http/callers.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";
import { noOrderSources } from "../../../test/fixtures/mitigation/fake-previews.ts";
import { ProtectionWire } from "../wire/protection.ts";

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  callers.admitCallers(server);
});
afterEach(() => server.http.stop());

test("a protection has what its hosts received, where that is known #protection-receives", async () => {
  const get = async (): Promise<ProtectionWire> => {
    const answer = await fetch(`${server.base}/api/v1/protection/${callers.ACME_HOST}`, {
      headers: callers.as("viewer"),
    });
    expect(answer.status).toBe(200);
    return (await answer.json()) as ProtectionWire;
  };
  expect(await get()).not.toHaveProperty("receives");
  const asked: string[] = [];
  const services = [{ service: "tcp/443", pps: 2 / 3, mbps: 0.5 }];
  server.backend.orders = {
    ...noOrderSources,
    received: ({ text }) => {
      asked.push(text);
      return { headers: 60, seconds: 59.9999, total: { pps: 1, mbps: 0.5 }, attackedShare: 0.25, services };
    },
  };
  const wire = await get();
  expect([...Value.Errors(ProtectionWire, wire)]).toEqual([]);
  expect(asked).toEqual([`${callers.ACME_HOST}/32`]);
  expect(wire.receives).toEqual({
    ...{ headers: 60, seconds: 60, pps: 1, mbps: 0.5, attacked_share: 0.25 },
    services: [{ service: "tcp/443", pps: 0.667, mbps: 0.5 }],
  });
});
