import { expect, test } from "bun:test";
import { configWith } from "../../../test/fixtures/config/parsed-config.ts";
import { notifyWarnings } from "./notify.ts";

function warnings(notify: string, environment: Record<string, string> = {}): string[] {
  return [...notifyWarnings(configWith(`notify: ${notify}`), (name) => environment[name] ?? null)].map(
    ({ path, rule }) => `${path.join(".")}: ${rule}`,
  );
}

const MAIL = "host: mail.example.net, from: a@example.net, to: [b@example.net], username_env: USER, password_env: PASS";

test("each variable of a channel that is not set, or empty, is named", () => {
  const notify = `{webhook: {url_env: URL, secret_env: KEY}, telegram: {token_env: TOKEN, chat_id: "1"}, email: {${MAIL}}}`;
  expect(warnings(notify, { URL: "https://example.net/", KEY: "", USER: "noc" })).toEqual([
    "notify.webhook.secret_env: the variable KEY is not set here: nothing is delivered",
    "notify.telegram.token_env: the variable TOKEN is not set here: nothing is delivered",
    "notify.email.password_env: the variable PASS is not set here: nothing is delivered",
  ]);
});

test("warns about a password on an unencrypted connection", () => {
  const environment = { USER: "noc", PASS: "x" };
  expect(warnings(`{email: {${MAIL}}}`, environment)).toEqual([]);
  expect(warnings(`{email: {${MAIL}, security: none}}`, environment)).toEqual([
    "notify.email.security: is none: the password crosses the network in the clear",
  ]);
});

test("no channel, no warning", () => {
  expect(warnings("{}")).toEqual([]);
});
