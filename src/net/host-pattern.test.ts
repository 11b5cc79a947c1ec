import { expect, test } from "bun:test";
import { isHostAllowed, parseHostPattern } from "./host-pattern.ts";

test.each([
  ["https://hooks.slack.com/1", "hooks.slack.com", true],
  ["https://HOOKS.slack.com/1", "hooks.Slack.com", true],
  ["https://evil-hooks.slack.com", "hooks.slack.com", false],
  ["https://a.acme.example", "*.acme.example", true],
  ["https://acme.example", "*.acme.example", false],
  ["https://evilacme.example", "*.acme.example", false],
  ["https://each.example", "*", true],
  ["http://each.example", "*", true],
  ["http://db.example:8123/?query=x", "*", false],
  ["http://mail.example:25/", "*.example", false],
  ["http://alerts.example.net:9093/", "alerts.example.net:9093", true],
  ["https://alerts.example.net/", "alerts.example.net:9093", false],
  ["http://alerts.example.net:9094/", "alerts.example.net:*", true],
  ["https://[2001:db8::5]/", "2001:db8::5", true],
  ["https://[2001:db8:0::5]/", "[2001:DB8::5]", true],
  ["https://[2001:db8::5]:8443/", "[2001:db8::5]:8443", true],
  ["https://192.0.2.1/", "192.0.2.1", true],
  ["https://192.0.2.1/", "192.0.2.2", false],
])("%s by %s: %p", (url, pattern, isAllowed) => {
  expect(isHostAllowed(new URL(url), [pattern])).toBe(isAllowed);
  expect(isHostAllowed(new URL(url), [])).toBe(false);
});

test.each([
  "",
  "a b",
  "https://a.example",
  "a.example/x",
  "a.*",
  "*.",
  "a.example:0",
  "a.example:65536",
  "[2001:db8::5",
])("%j is none", (text) => expect(parseHostPattern(text)).toBeNull());
