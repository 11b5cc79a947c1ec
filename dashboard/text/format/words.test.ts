import { expect, test } from "bun:test";
import { VECTORS } from "../../../src/detection/attack/vector.ts";
import { counted, tcpFlagNames, vectorName } from "./words.ts";

test("every vector has a name that can be read", () => {
  for (const vector of VECTORS) expect(vectorName(vector)).toMatch(/^[A-Za-z][A-Za-z0-9-]*( [A-Za-z]+)*$/);
  expect(vectorName("dns_amplification")).toBe("DNS amplification");
  expect(vectorName("syn_ack_flood")).toBe("SYN ACK flood");
  expect(vectorName("mixed")).toBe("mixed");
});

test("flags by their bits, counts with their noun", () => {
  expect(tcpFlagNames(0b10010)).toBe("SYN+ACK");
  expect([counted(1, "attack"), counted(2, "attack")]).toEqual(["1 attack", "2 attacks"]);
});
