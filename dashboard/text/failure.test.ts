import { expect, test } from "bun:test";
import { failedTitle, failureText, fieldFault } from "./failure.ts";

const refused = (text: string, status = 400) => ({ kind: "refused", status, text, body: null }) as const;

test("a failed reading is titled as one, not as an empty list", () => {
  expect(failedTitle("hosts")).toBe("Hosts could not be read");
});

test("promises nothing that the page may not do", () => {
  expect(failureText({ kind: "unreachable" })).toBe("Floodwall does not answer.");
  expect(failureText(refused("invalid JSON body: template: there is no x"))).toBe("template: there is no x");
  expect(failureText(refused("your share is taken", 429))).toBe("your share is taken. Try again in a moment.");
});

test.each([
  ["invalid JSON body: source_ports.0: must be a port", { field: "source_ports", rule: "Must be a port." }],
  ["invalid JSON body: payload.0.bytes: must be hexadecimal", { field: "payload", rule: "Must be hexadecimal." }],
  ["invalid JSON body: ttl_seconds must be a whole number", { field: "ttl_seconds", rule: "Must be a whole number." }],
  ["invalid ip: 999.1.1.1", { field: "ip", rule: "999.1.1.1 is no address." }],
  ["invalid ip: ", { field: "ip", rule: "Nothing is no address." }],
  ["invalid prefix: 10.0.0.0/33: an IPv4 prefix", { field: "prefix", rule: "10.0.0.0/33: an IPv4 prefix." }],
  ["invalid JSON body: not an object", null],
  ["no such thing", null],
] as const)("%p is at its field", (text, expected) => {
  expect<unknown>(fieldFault(refused(text))).toEqual(expected);
});

test("what is refused for another reason is about the whole order", () => {
  expect(fieldFault(refused("invalid ip: x", 409))).toBeNull();
  expect(fieldFault({ kind: "unreachable" })).toBeNull();
});
