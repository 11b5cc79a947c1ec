import { expect, test } from "bun:test";
import { loopback } from "../../../test/fixtures/bgp/bgp.ts";
import { gobgpdToml } from "./gobgpd-config.ts";

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
  const listening: unknown = Bun.TOML.parse(
    gobgpdToml({ ...config, listen: { port: 1790, addresses: [loopback(1), loopback(2)] } }),
  );
  expect(listening).toMatchObject({
    global: { config: { port: 1790, "local-address-list": [loopback(1), loopback(2)] } },
  });
});
