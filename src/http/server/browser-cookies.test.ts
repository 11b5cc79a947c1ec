import { describe, expect, test } from "bun:test";
import type { SignInConfig } from "../../access/sign-in-config.ts";
import { clearCookie, cookieOf, isOwnPage, setCookie } from "./browser-cookies.ts";

const at = (publicUrl: string) => ({ publicUrl }) as SignInConfig;
const HTTPS = at("https://floodwall.example.net");
const LOOPBACK = at("http://127.0.0.1:8080");

function request(headers: Readonly<Record<string, string>>, method = "GET"): Request {
  return new Request("http://localhost/api/v1/session", { method, headers });
}

test("cookies are for this host alone, and closed to scripts and other sites #sign-in-cookie", () => {
  expect(setCookie("session", "x", HTTPS)).toBe("__Host-floodwall=x; Path=/; HttpOnly; Secure; SameSite=Strict");
  expect(setCookie("attempt", "x", HTTPS)).toBe(
    "__Host-floodwall-sign-in=x; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=600",
  );
  expect(setCookie("session", "x", LOOPBACK)).toBe("floodwall-8080=x; Path=/; HttpOnly; SameSite=Strict");
  expect(clearCookie("session", HTTPS)).toBe("__Host-floodwall=; Path=/; HttpOnly; Secure; SameSite=Strict; Max-Age=0");
});

test.each([
  ["__Host-floodwall=abc", "abc"],
  ["a=b; __Host-floodwall=abc; c=d", "abc"],
  ["__Host-floodwall=abc; __Host-floodwall=def", null],
  ["floodwall=abc", null],
  ["__Host-floodwall-sign-in=abc", null],
  ["__Host-floodwall=", null],
  ['__Host-floodwall="abc"', null],
  [`__Host-floodwall=${"a".repeat(4097)}`, null],
  ["", null],
])("the session of %p is %p", (cookie, value) => {
  expect(cookieOf(request({ cookie }), "session", HTTPS)).toBe(value);
});

describe("a request is of the dashboard's own page #sign-in-own-page", () => {
  const own = "https://floodwall.example.net";
  test.each([
    ["GET", {}, true],
    ["GET", { "sec-fetch-site": "none" }, true],
    ["GET", { "sec-fetch-site": "same-origin" }, true],
    ["GET", { "sec-fetch-site": "same-site" }, false],
    ["GET", { "sec-fetch-site": "cross-site" }, false],
    ["GET", { origin: "https://evil.example" }, false],
    ["POST", {}, false],
    ["POST", { origin: own }, true],
    ["POST", { origin: own, "sec-fetch-site": "same-origin" }, true],
    ["POST", { origin: own, "sec-fetch-site": "none" }, false],
    ["POST", { origin: own, "sec-fetch-site": "same-site" }, false],
    ["POST", { origin: "http://floodwall.example.net" }, false],
    ["POST", { origin: `${own}:8443` }, false],
    ["POST", { origin: "https://floodwall.example.net.evil.example" }, false],
    ["POST", { origin: "null" }, false],
    ["DELETE", { "sec-fetch-site": "same-origin" }, false],
  ] as const)("%s with %j: %p", (method, headers, isOwn) => {
    expect(isOwnPage(request(headers, method), HTTPS)).toBe(isOwn);
  });
});
