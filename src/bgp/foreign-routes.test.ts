import { expect, test } from "bun:test";
import { foreignRoutes } from "./foreign-routes.ts";
import type { RouteFamily } from "./route-family.ts";
import type { ListedPath } from "./speaker/speaker-client.ts";

const OWN = 7;

function path(neighborIp: string, identifier: number, last: number): ListedPath {
  const attributes = { nextHop: "192.0.2.1", communities: [], marks: null, localPref: 0, rates: [] };
  const nlri = { kind: "prefix", address: `203.0.113.${last}`, length: 32 } as const;
  return { family: "ipv4-unicast", nlri, identifier, neighborIp, attributes } as unknown as ListedPath;
}

test("routes of others in the speaker are those put in locally, but for the service's own", async () => {
  const paths = [
    path("", 0x46 * 2 ** 24 + OWN, 1),
    path("", 0x46 * 2 ** 24 + 8, 2),
    path("<nil>", 0, 3),
    path("198.51.100.1", 0, 4),
  ];
  const listGlobal = async (family: RouteFamily) => (family === "ipv4-unicast" ? paths : []);
  const { routes, leftOut } = await foreignRoutes({ listGlobal }, OWN);
  expect(routes.map(({ text, instance }) => [text, instance])).toEqual([
    ["203.0.113.2/32", 8],
    ["203.0.113.3/32", null],
  ]);
  expect(leftOut).toBe(0);
});
