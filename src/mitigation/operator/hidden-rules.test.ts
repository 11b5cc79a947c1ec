import { expect, test } from "bun:test";
import { operatorRule } from "../../../test/fixtures/mitigation/operator-rules.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { exactly } from "../../net/range.ts";
import { ANY_MATCH, type Match } from "../rules/match.ts";
import { hiddenRules } from "./hidden-rules.ts";
import type { OperatorRule } from "./operator-rule.ts";

const NETWORKS = [prefix("192.0.2.0/24"), prefix("2001:db8::/48")];
const match = (rule: Partial<Match>): Pick<OperatorRule, "match"> => ({ match: { ...ANY_MATCH, ...rule } });
const udp = match({ protocols: exactly(17) });
const ports = (from: number, to = from) => match({ protocols: exactly(17), destinationPorts: [{ from, to }] });

const isHidden = (earlier: Partial<OperatorRule>, later: Partial<OperatorRule>) =>
  hiddenRules([operatorRule({ name: "earlier", ...earlier }), operatorRule({ name: "later", ...later })], NETWORKS).has(
    1,
  );

test("by an earlier rule that decides about all that it matches", () => {
  expect(isHidden(udp, ports(53))).toBe(true);
  expect(isHidden({ ...udp, action: "pass" }, ports(53))).toBe(true);
  expect(isHidden(ports(53, 60), ports(54, 60))).toBe(true);
  expect(isHidden({}, match({ ttl: { from: 1, to: 2 } }))).toBe(true);
  const all = { destinations: [prefix("192.0.2.0/24")] };
  expect(isHidden(all, { destinations: [prefix("192.0.2.7/32")] })).toBe(true);
  expect(isHidden({}, all)).toBe(true);
  expect(isHidden(match({ source: prefix("10.0.0.0/8") }), match({ source: prefix("10.1.0.0/16") }))).toBe(true);
  const syn = match({ tcpFlags: { set: 2, unset: 0 } });
  expect(isHidden(syn, match({ tcpFlags: { set: 2, unset: 16 } }))).toBe(true);
});

test("not by one that leaves something to it", () => {
  expect(isHidden(ports(53), udp)).toBe(false);
  expect(isHidden(ports(53, 60), ports(54, 61))).toBe(false);
  expect(isHidden({ ...udp, isDryRun: true }, ports(53))).toBe(false);
  expect(isHidden({ ...udp, action: "limit" }, ports(53))).toBe(false);
  expect(isHidden({ ...udp, when: "attacked" }, ports(53))).toBe(false);
  expect(isHidden({ ...udp, when: "attacked" }, { ...ports(53), when: "attacked" })).toBe(true);
  expect(isHidden(match({ protocols: exactly(17), ttl: { from: 1, to: 2 } }), ports(53))).toBe(false);
  expect(isHidden({ destinations: [prefix("192.0.2.7/32")] }, {})).toBe(false);
  expect(isHidden(match({ source: prefix("10.1.0.0/16") }), match({ source: prefix("10.0.0.0/8") }))).toBe(false);
  expect(isHidden(match({ tcpFlags: { set: 2, unset: 16 } }), match({ tcpFlags: { set: 2, unset: 0 } }))).toBe(false);
  expect(isHidden(match({ fragment: true }), {})).toBe(false);
});
