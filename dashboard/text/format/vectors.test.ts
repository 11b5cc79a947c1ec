import { expect, test } from "bun:test";
import { VECTORS } from "../../../src/detection/attack/vector.ts";
import { vectorName } from "./vectors.ts";

test("every vector has a name that can be read", () => {
  for (const vector of VECTORS) expect(vectorName(vector)).toMatch(/^[A-Za-z][A-Za-z0-9-]*( [A-Za-z-]+)*$/);
  expect(vectorName("dns_amplification")).toBe("DNS amplification");
  expect(vectorName("netbios_amplification")).toBe("NetBIOS amplification");
  expect(vectorName("syn_ack_flood")).toBe("SYN ACK flood");
  expect(vectorName("mixed")).toBe("Mixed");
});
