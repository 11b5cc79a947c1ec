import { expect, test } from "bun:test";
import { namesThisMachine } from "./own-host.ts";

const LISTEN = "192.0.2.10";

test.each<[isOwn: boolean, headers: Record<string, string>]>([
  [true, {}],
  [true, { host: "localhost:8080" }],
  [true, { host: "LOCALHOST" }],
  [true, { host: "127.0.0.1:8080" }],
  [true, { host: "127.8.9.10" }],
  [true, { host: "[::1]:8080" }],
  [true, { host: `${LISTEN}:8080` }],
  [true, { host: "localhost", origin: "http://localhost:8080" }],
  [false, { host: "rebound.example:8080" }],
  [false, { host: "localhost.example" }],
  [false, { host: "127.0.0.1.example" }],
  [false, { host: "192.0.2.11" }],
  [false, { host: "user@rebound.example" }],
  [false, { host: "not a host" }],
  [false, { host: "localhost", origin: "https://rebound.example" }],
  [false, { host: "localhost", origin: "null" }],
  [false, { origin: "http://192.0.2.11" }],
])("%p for %p", (isOwn, headers) => {
  expect(namesThisMachine(new Request("http://localhost/", { headers }), LISTEN)).toBe(isOwn);
});
