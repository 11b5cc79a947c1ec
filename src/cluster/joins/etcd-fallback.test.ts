import { expect, test } from "bun:test";
import { FALLBACK_MS, holdsWithFallback } from "./etcd-fallback.ts";

const lease = (isHeld: boolean) => ({ holds: () => isHeld });

test.each([
  ["that of etcd, while it answers", true, false, FALLBACK_MS - 1, [], true],
  ["not that of the connections, while etcd answers", false, true, FALLBACK_MS - 1, [], false],
  ["that of the connections, once etcd is silent", false, true, FALLBACK_MS, [{ isUp: true, hasEtcd: false }], true],
  ["none, while etcd answers another brain", false, true, FALLBACK_MS, [{ isUp: true, hasEtcd: true }], false],
  ["that of the connections beside one that is away", false, true, FALLBACK_MS, [{ isUp: false, hasEtcd: true }], true],
  ["that of the connections beside a build that does not say", false, true, FALLBACK_MS, [{ isUp: true }], true],
])("the lease that counts is %s", (_, etcd, pair, silenceMs, peers, expected) => {
  expect(holdsWithFallback({ etcd: lease(etcd), pair: lease(pair), silenceMs, peers })).toBe(expected);
});
