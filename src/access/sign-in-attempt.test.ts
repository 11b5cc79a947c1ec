import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { AttemptSeal } from "./sign-in-attempt.ts";

const ABOUT = { issuer: "https://login.example.net", clientId: "floodwall" };
const ATTEMPT = { state: "s", nonce: "n", verifier: "v", place: "/", ...ABOUT, replaces: null, expiresAt: 1 };

test("what was sealed is read by the same process, and by no other", () => {
  const seal = new AttemptSeal(randomBytes);
  expect(seal.open(seal.seal(ATTEMPT))).toEqual(ATTEMPT);
  expect(new AttemptSeal(randomBytes).open(seal.seal(ATTEMPT))).toBeNull();
});

test("is nothing with any bit changed, cut or of others' making", () => {
  const seal = new AttemptSeal(randomBytes);
  const bytes = Buffer.from(seal.seal(ATTEMPT), "base64url");
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const other = Buffer.from(bytes);
    other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(seal.open(other.toString("base64url"))).toBeNull();
  }
  for (const length of [0, 1, 27, 28, 29, bytes.length - 1]) {
    expect(seal.open(bytes.subarray(0, length).toString("base64url"))).toBeNull();
  }
  expect(seal.open(Buffer.from(JSON.stringify(ATTEMPT)).toString("base64url"))).toBeNull();
});
