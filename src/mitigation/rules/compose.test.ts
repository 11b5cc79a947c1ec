import { expect, test } from "bun:test";
import { operatorRule } from "../../../test/fixtures/mitigation/operator-rules.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { operatorKernelRules } from "../operator/operator-kernel-rules.ts";
import { compose } from "./compose.ts";

test("destinations whose lists lose rules for lack of room are counted, and not these rules", () => {
  const networks = [prefix("192.0.2.0/24")];
  const rules = ["a", "b", "c", "d", "e"].map((name) => operatorRule({ name }));
  const operators = operatorKernelRules({ rules, networks, attacked: [], wallMs: 0, room: 100 });
  const leftOut = (room: number) => compose({ operators, rules: [], room, bitOf: () => null }).operators.leftOut;
  expect([leftOut(5), leftOut(4), leftOut(2), leftOut(0)]).toEqual([0, 1, 1, 1]);
});
