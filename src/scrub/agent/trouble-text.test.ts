/** The texts for operators on failures, checked against real refusals of the service. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { ScrubChannel } from "../../../test/fixtures/scrub/scrub-channel.ts";
import { divertedBan } from "../../../test/fixtures/scrub/scrubbing.ts";
import { NOON } from "../../../test/fixtures/views.ts";
import { exactly } from "../../net/range.ts";
import { systemTimers } from "../../system/timers.ts";
import { HttpController, type PollAnswer } from "./controller.ts";
import { readDocument } from "./rule-document.ts";
import { troubleText } from "./trouble-text.ts";

const NAMES = { url: "https://fw.example.net", node: "s1", tokenEnv: "TOKEN", hasToken: true };

describe("of the real service", () => {
  let channel: ScrubChannel;
  const controllers: HttpController[] = [];

  beforeEach(() => {
    channel = new ScrubChannel();
  });
  afterEach(async () => {
    for (const one of controllers.splice(0)) one.close();
    await channel.stop();
  });

  function controller(token: string | null, node = "s1"): HttpController {
    const url = new URL(channel.server.base);
    const made = new HttpController({ url, node, token: () => token, authority: null, timers: systemTimers });
    controllers.push(made);
    return made;
  }

  function problemText(answer: PollAnswer, node = "s1"): string {
    if (answer.kind === "document" || answer.kind === "unchanged") throw new Error(`answered ${answer.kind}`);
    return troubleText(answer, { ...NAMES, node });
  }

  test("takes its document, as it was meant", async () => {
    channel.change(
      divertedBan({ rules: [{ protocols: exactly(17), sourcePorts: [{ from: 53, to: 53 }] }] }),
      divertedBan({ target: "192.0.2.2", dryRun: true }),
    );
    const answer = await controller("bound1").poll(null);
    if (answer.kind !== "document") throw new Error(answer.kind);
    const { bans } = readDocument(answer.text, { maxRules: 2, isKnown: () => false });
    expect(bans.map(({ prefix, isVirtual }) => [prefix.text, isVirtual])).toEqual([
      ["192.0.2.1/32", false],
      ["192.0.2.2/32", true],
    ]);
    expect(bans[0]).toMatchObject({
      expiresAtMs: NOON + 600_000,
      rules: [{ protocols: exactly(17), sourcePorts: [{ from: 53, to: 53 }] }],
    });
    expect(answer.etag).toMatch(/^".+"$/);
    expect(answer.sentAtMs).not.toBeNull();
  });

  test("a wrong secret", async () => {
    expect(problemText(await controller("other").poll(null))).toBe(
      "answered 401 (missing or invalid bearer token): the secret in TOKEN matches no token of the service",
    );
  });

  test("another node's token, and one of another role", async () => {
    expect(problemText(await controller("bound2").poll(null))).toBe(
      "answered 403 (this token is bound to another node): the token must have the role agent, and be bound to s1 or to no node",
    );
    expect(problemText(await controller("eyes").poll(null))).toBe(
      "answered 403 (this token's role may not perform this action): the token must have the role agent, and be bound to s1 or to no node",
    );
  });

  test("a name that the service does not know, for polls and for reports", async () => {
    const text =
      "answered 404 (unknown scrubbing node): s9 must be a name in scrubbing.nodes of the service, and controller.url the service's";
    expect(problemText(await controller("unbound", "s9").poll(null), "s9")).toBe(text);
    const reported = await controller("unbound", "s9").report({ version: "1" });
    expect(reported.kind === "refused" && troubleText(reported, { ...NAMES, node: "s9" })).toBe(text);
  });

  test("a report is stored", async () => {
    expect(await controller("bound1").report({ version: "1", xdp_mode: "native" })).toEqual({ kind: "stored" });
  });
});

const refused = (status: number) => ({ kind: "refused", status, detail: "" }) as const;

test.each([
  [
    "no variable",
    refused(401),
    { tokenEnv: null },
    "answered 401: the service requires a token: name its variable in controller.token_env",
  ],
  ["an unset variable", refused(401), { hasToken: false }, "answered 401: the environment variable TOKEN is not set"],
  ["too many polls", refused(429), {}, "answered 429: too many polls with this token, give each node one of its own"],
  ["a redirect", refused(301), {}, "answered 301: redirects are not followed, controller.url must be the service's"],
  ["a broken service", refused(503), {}, "answered 503"],
  [
    "an unreachable service",
    { kind: "unreachable", reason: "ECONNREFUSED" } as const,
    {},
    "https://fw.example.net cannot be reached: ECONNREFUSED",
  ],
  [
    "a certificate",
    { kind: "unreachable", reason: "DEPTH_ZERO_SELF_SIGNED_CERT" } as const,
    {},
    "https://fw.example.net cannot be reached: DEPTH_ZERO_SELF_SIGNED_CERT: its certificate must be valid for this name; controller.ca_file names an authority of your own",
  ],
  [
    "a bad document",
    { kind: "bad_document", reason: "it is no JSON" } as const,
    {},
    "the rule document is unusable, the last good one stays: it is no JSON",
  ],
  [
    "a document beyond the bounds",
    { kind: "out_of_bounds", reason: "0.0.0.0/0: is shorter than bounds.shortest_prefix" } as const,
    {},
    "the rule document is beyond the bounds of this node, the last good one stays: 0.0.0.0/0: is shorter than bounds.shortest_prefix: look whether the service is in wrong hands, or widen bounds",
  ],
])("%s", (_, trouble, changes, text) => {
  expect(troubleText(trouble, { ...NAMES, ...changes })).toBe(text);
});
