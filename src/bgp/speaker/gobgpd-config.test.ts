import { expect, test } from "bun:test";
import { loopback } from "../../../test/fixtures/bgp/bgp.ts";
import { gobgpdToml, lastLogError } from "./gobgpd-config.ts";

test("allows only own routes in and out, and listens only if configured", () => {
  const config = { localAsn: 65001, routerId: loopback(1) };
  const dialling: unknown = Bun.TOML.parse(gobgpdToml({ ...config, listen: null }));
  expect(dialling).toMatchObject({
    global: {
      config: { as: 65001, "router-id": loopback(1), port: -1 },
      "apply-policy": {
        config: { "default-import-policy": "reject-route", "default-export-policy": "reject-route" },
      },
    },
    "policy-definitions": [{ statements: [{ conditions: { "bgp-conditions": { "route-type": "local" } } }] }],
  });
  const listening: unknown = Bun.TOML.parse(gobgpdToml({ ...config, listen: { port: 1790, address: loopback(1) } }));
  expect(listening).toMatchObject({ global: { config: { port: 1790, "local-address-list": [loopback(1)] } } });
});

test("finds why gobgpd ended at the end of its log", () => {
  const log = [
    '{"level":"info","msg":"gobgpd started"}',
    '{"level":"fatal","Error":"listen tcp4: in use","msg":"failed to set global config"}',
    "not JSON",
    "",
  ].join("\n");
  expect(lastLogError(log)).toBe("failed to set global config: listen tcp4: in use");
  expect(lastLogError('{"level":"fatal","Error":{"Op":"listen"},"msg":"failed"}')).toBe('failed: {"Op":"listen"}');
  const capitals = '{"time":"2026-01-01T00:00:00Z","level":"ERROR","msg":"failed","File":"a.toml","Error":"in use"}';
  expect(lastLogError(capitals)).toBe("failed: in use");
  expect(lastLogError('{"level":"info","msg":"gobgpd started"}')).toBeNull();
  expect(lastLogError('{"level":"INFO","msg":"gobgpd started"}')).toBeNull();
  expect(lastLogError("")).toBeNull();
});
