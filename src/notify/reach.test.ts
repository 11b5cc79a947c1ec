import { afterAll, beforeEach, expect, test } from "bun:test";
import { selfSigned } from "../../test/fixtures/edge/certificate.ts";
import { Receiver } from "../../test/fixtures/notify/notify.ts";
import { canonicalPrefix } from "../net/prefix.ts";
import { DeliveryFault } from "./delivery-fault.ts";
import { post } from "./http-post.ts";
import { type Reach, reachOf } from "./reach.ts";

const REFUSED = "its host is not known, takes no connection, or is at an address that targets of tenants may not reach";
const { key, cert } = selfSigned();
const [plain, tls] = [new Receiver(), new Receiver({ key, cert })];
afterAll(() => Promise.all([plain.stop(), tls.stop()]));

beforeEach(() => {
  plain.received.length = 0;
  for (const server of [plain, tls]) server.answers = [() => new Response("ok")];
});

/** @param names the addresses of each, at each look. */
function reach(
  names: Record<string, readonly string[]> = {},
  allowed: readonly string[] = [],
  nat64: readonly string[] = [],
): Reach {
  const resolve = async (name: string) => names[name] ?? Promise.reject(new Error("ENOTFOUND"));
  return reachOf({
    nat64: () => nat64.map(canonicalPrefix),
    ...{ resolve, resolveOwn: resolve },
    allowed: () => allowed.map(canonicalPrefix),
    isOwn: async (address) => address === "198.18.0.1" || address === "8.8.8.8",
  });
}

const outcome = (of: Promise<unknown>) =>
  of.then(
    (value) => JSON.stringify(value),
    (cause: Error) => cause.message,
  );

test.each([
  "127.0.0.1",
  "0.0.0.0",
  "10.0.0.1",
  "172.16.0.1",
  "192.168.1.1",
  "169.254.169.254",
  "100.64.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "[::1]",
  "[::]",
  "[fe80::1]",
  "[fd00::1]",
  "[64:ff9b::7f00:1]",
  "[2002:7f00:1::1]",
  "[ff02::1]",
  "192.88.99.1",
  "[2001::1]",
  "[2001:10::1]",
  "[2001:20::1]",
  "[3fff::1]",
  "8.8.8.8",
])("%s is not reached, by its address or by a name, unless it is allowed", async (host) => {
  const address = host.replace(/^\[|\]$/g, "");
  expect(await outcome(reach()(host))).toBe(REFUSED);
  expect(await outcome(reach({ "hook.example.net": [address] })("hook.example.net"))).toBe(REFUSED);
});

test("an IPv4 address in an IPv6 address is none that is reached", async () => {
  expect(await outcome(reach()("[::ffff:127.0.0.1]"))).toBe(REFUSED);
  expect(await outcome(reach({ "hook.example.net": ["::ffff:127.0.0.1"] })("hook.example.net"))).toBe(REFUSED);
});

test("what a translator takes for an IPv4 address is judged by that address", async () => {
  const own = reach({}, ["10.1.0.0/16"], ["2001:db8:64::/96", "64:ff9b:1::/48"]);
  const reached = ["[64:ff9b::101:101]", "[2001:db8:64::101:101]", "[2001:db8:64::a01:1]", "[64:ff9b:1:101:1:100::]"];
  for (const host of reached) expect(await outcome(own(host))).not.toBe(REFUSED);
  const refused = ["[64:ff9b::808:808]", "[2001:db8:64::7f00:1]", "[2001:db8:64::a00:1]", "[64:ff9b:1:7f00:0:100::]"];
  for (const host of refused) expect(await outcome(own(host))).toBe(REFUSED);
});

test("public addresses are reached, of several those alone, and allowed networks whatever they are", async () => {
  const names = { "hook.example.net": ["10.0.0.1", "1.1.1.1", "2606:4700::1111"] };
  expect(await reach(names)("hook.example.net")).toEqual([
    { address: "1.1.1.1", family: 4 },
    { address: "2606:4700::1111", family: 6 },
  ] as never);
  expect(await reach({}, ["10.0.0.0/24"])("10.0.0.1")).toEqual([{ address: "10.0.0.1", family: 4 }] as never);
  expect(await outcome(reach()("absent.example.net"))).toBe(REFUSED);
});

function posted(url: string, to: Reach, authority: string | null = null) {
  const { signal } = new AbortController();
  return outcome(post({ url: new URL(url), headers: {}, body: "x", signal, authority, reach: to }).then(() => "taken"));
}

test("a delivery goes to the address that was checked, under the name", async () => {
  const port = new URL(plain.url).port;
  const to = reach({ "hook.example.net": ["127.0.0.1"] }, ["127.0.0.1/32"]);
  expect(await posted(`http://hook.example.net:${port}/a?b`, to)).toBe('"taken"');
  expect(plain.received[0]).toMatchObject({ path: "/a?b", body: "x" });
  expect(plain.received[0]?.headers.get("host")).toBe(`hook.example.net:${port}`);
});

test("a name that turns to this machine after it was allowed is not followed", async () => {
  const before = plain.received.length;
  let looks = 0;
  const turning = reachOf({
    resolve: async () => [looks++ === 0 ? "1.1.1.1" : "127.0.0.1"],
    ...{ resolveOwn: async () => [], allowed: () => [], isOwn: async () => false },
  });
  expect(await outcome(turning("hook.example.net"))).toContain("1.1.1.1");
  expect(await posted(`http://hook.example.net:${new URL(plain.url).port}/`, turning)).toBe(REFUSED);
  expect(plain.received.length).toBe(before);
});

test("a certificate must be of the name, and a redirect is not followed", async () => {
  const port = new URL(tls.url).port;
  const to = reach({ localhost: ["127.0.0.1"], "hook.example.net": ["127.0.0.1"] }, ["127.0.0.0/8"]);
  expect(await posted(`https://localhost:${port}/`, to, cert)).toBe('"taken"');
  expect(await posted(`https://hook.example.net:${port}/`, to, cert)).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
  expect(await posted(`https://localhost:${port}/`, to)).not.toBe('"taken"');
  const before = plain.received.length;
  tls.answers = [() => new Response(null, { status: 307, headers: { location: plain.url } })];
  expect(await posted(`https://localhost:${port}/`, to, cert)).toBe("answered 307, and redirects are not followed");
  expect(plain.received.length).toBe(before);
});

test("a delivery that is aborted ends, and says what it asks to wait", async () => {
  plain.answers = [() => new Response(null, { status: 429, headers: { "retry-after": "7" } })];
  const to = reach({}, ["127.0.0.0/8"]);
  const call = { url: new URL(plain.url), headers: {}, body: "x", authority: null, reach: to };
  const fault: unknown = await post({ ...call, signal: new AbortController().signal }).catch((cause: unknown) => cause);
  expect(fault).toBeInstanceOf(DeliveryFault);
  expect(fault).toMatchObject({ message: "answered 429", retryAfterMs: 7000 });
  const aborted = new AbortController();
  aborted.abort();
  expect(await outcome(post({ ...call, signal: aborted.signal }))).not.toBe("undefined");
});

test("a port that takes no connection has the answer of a refused address", async () => {
  const free = new Receiver();
  const { port } = new URL(free.url);
  await free.stop();
  expect(await posted(`http://127.0.0.1:${port}/`, reach({}, ["127.0.0.0/8"]))).toBe(REFUSED);
});

test("of a name with very many addresses the first are looked at", async () => {
  const many = Array.from({ length: 200 }, (_, i) => `1.1.1.${i}`);
  expect(JSON.parse(await outcome(reach({ "many.example.net": many })("many.example.net")))).toHaveLength(16);
  // Of an own server all are.
  const resolve = async (name: string) => (name === "db.example.net" ? many : ["1.1.1.199"]);
  const own = { resolve, resolveOwn: resolve, allowed: () => [], isOwn: async () => false };
  expect(await outcome(reachOf({ ...own, ownNames: () => ["db.example.net"] })("alias.acme.example"))).toBe(REFUSED);
});

test("an unknown name and a refused address have the same answer", async () => {
  const fault = (host: string) => reach({ "own.example.net": ["8.8.8.8"] })(host).catch((cause: unknown) => cause);
  const [refused, unknown] = [await fault("own.example.net"), await fault("absent.example.net")];
  expect(unknown).toEqual(refused);
  expect(refused).toMatchObject({ isFinal: false });
});

test("where servers of the configuration are by their names, no target of a tenant is", async () => {
  const names: Record<string, readonly string[]> = {
    "db.example.net": ["1.1.1.1"],
    "alias.acme.example": ["1.1.1.1"],
    "hook.acme.example": ["1.0.0.1"],
  };
  const resolve = async (name: string) => names[name] ?? Promise.reject(new Error("ENOTFOUND"));
  const options = {
    resolve,
    resolveOwn: resolve,
    isOwn: async () => false,
    ownNames: () => ["db.example.net", "absent.example.net"],
  };
  const none = reachOf({ ...options, allowed: () => [] });
  expect(await outcome(none("alias.acme.example"))).toBe(REFUSED);
  expect(await outcome(none("db.example.net"))).toBe(REFUSED);
  expect(await outcome(none("1.1.1.1"))).toBe(REFUSED);
  expect(await outcome(none("hook.acme.example"))).toContain("1.0.0.1");
  delete names["db.example.net"];
  expect(await outcome(none("alias.acme.example"))).toBe(REFUSED);
  const allowed = reachOf({ ...options, allowed: () => [canonicalPrefix("1.1.1.1/32")] });
  expect(await outcome(allowed("alias.acme.example"))).toContain("1.1.1.1");
});
