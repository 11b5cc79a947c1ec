import { expect, test } from "bun:test";
import { counted, tcpFlagNames } from "./words.ts";

test("flags by their bits, counts with their noun", () => {
  expect(tcpFlagNames(0b10010)).toBe("SYN+ACK");
  expect([counted(1, "attack"), counted(2, "attack")]).toEqual(["1 attack", "2 attacks"]);
});
