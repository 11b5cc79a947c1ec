import { beforeEach, describe, expect, test } from "bun:test";
import { SESSIONS_MAX, SESSIONS_PER_USER } from "../limits.ts";
import { BrowserSessions, GRACE_MS, RENEW_MS, type SessionEnd } from "./browser-sessions.ts";
import type { KeptSession } from "./kept-session.ts";
import { callersOf } from "./shares.ts";
import type { SignInConfig } from "./sign-in-config.ts";

const role = (value: string, tenant: string | null) => ({ claim: "g", value, role: "viewer", tenant }) as const;
const CONFIG: SignInConfig = {
  issuer: "https://login.example.net",
  clientId: "floodwall",
  clientSecretEnv: null,
  publicUrl: "https://floodwall.example.net",
  label: "Example",
  scopes: ["openid"],
  nameClaim: "name",
  roles: [role("noc", null), role("acme", "acme"), role("other", "other")],
  sessionSeconds: 3600,
};

let now = 0;
let wallAheadMs = 0;
let made = 0;
let config: SignInConfig | null;
let ends: SessionEnd[];
let sessions: BrowserSessions;
let disk: Map<string, KeptSession>;

beforeEach(() => {
  [now, wallAheadMs, made, config, ends, disk] = [1_000_000, 0, 0, CONFIG, [], new Map()];
  start();
});

/** A process on what the one before has left. */
function start(): void {
  const put = (id: string, kept: KeptSession | null) => {
    if (kept === null) disk.delete(id);
    else disk.set(id, structuredClone(kept));
  };
  const store = {
    queue: put,
    save: async (id: string, kept: KeptSession | null) => {
      put(id, kept);
      return true;
    },
  };
  sessions = new BrowserSessions({
    store,
    kept: [...disk.values()],
    config: () => config,
    callers: () => callersOf([{ tenant: "acme" }, { tenant: "acme" }, { tenant: "other" }]),
    newId: () => `id${++made}`,
    randomBytes: (count) => new Uint8Array(count).fill(0).map((_, i) => (i < 4 ? (++made >> (8 * i)) & 255 : i)),
    clock: { monotonicMs: () => now, wallMs: () => now + wallAheadMs },
    onEnd: (_, end) => ends.push(end),
  });
}

const opened = (name: string, g = "noc") => {
  const answer = sessions.open({ sub: `sub of ${name}`, name, g }, config ?? CONFIG);
  if (answer.kind === "refused") throw new Error(answer.refusal);
  return answer;
};

describe("the secret of a session", () => {
  test("is replaced when it is time, not sooner, and both work until the new one was used #sign-in-renewal", () => {
    const { session, secret } = opened("alice");
    now += RENEW_MS - 1;
    expect(sessions.renew(session.id)).toBeNull();
    now += 1;
    const next = sessions.renew(session.id);
    expect(next).not.toBeNull();
    // The answer with it may be lost: the old one works on.
    now += 10 * GRACE_MS;
    expect(sessions.of(secret)?.id).toBe(session.id);
    expect(sessions.of(next ?? "")?.id).toBe(session.id);
    now += GRACE_MS;
    expect(sessions.of(secret)?.id).toBe(session.id);
    expect(ends).toEqual([]);
  });

  test("that was replaced ends the session when it is used later, for both who have one #sign-in-renewal", () => {
    const { session, secret } = opened("alice");
    now += RENEW_MS;
    const next = sessions.renew(session.id) ?? "";
    sessions.of(next);
    now += GRACE_MS + 1;
    expect(sessions.of(secret)).toBeNull();
    expect(sessions.of(next)).toBeNull();
    expect(ends).toEqual(["reused_secret"]);
    expect(sessions.size).toBe(0);
  });

  test("of an answer that was lost is replaced by the next one, and counts for nothing then", () => {
    const { session, secret } = opened("alice");
    now += RENEW_MS;
    const lost = sessions.renew(session.id) ?? "";
    now += RENEW_MS;
    const next = sessions.renew(session.id) ?? "";
    expect(sessions.of(lost)).toBeNull();
    expect(sessions.of(next)?.id).toBe(session.id);
    expect(sessions.of(secret)?.id).toBe(session.id);
  });

  test("is unknown once its session has ended", () => {
    const { session, secret } = opened("alice");
    expect(sessions.end(session.id, "signed_out")).toBe(true);
    expect(sessions.end(session.id, "signed_out")).toBe(false);
    expect(sessions.of(secret)).toBeNull();
    expect(sessions.renew(session.id)).toBeNull();
    expect(ends).toEqual(["signed_out"]);
  });
});

describe("sessions are bounded", () => {
  test("by user: the oldest of the same user ends", () => {
    const own = Array.from({ length: SESSIONS_PER_USER }, () => opened("alice"));
    const other = opened("bob");
    opened("alice");
    expect(ends).toEqual(["replaced"]);
    expect(sessions.of(own[0]?.secret ?? "")).toBeNull();
    expect(sessions.of(own[1]?.secret ?? "")).not.toBeNull();
    expect(sessions.of(other.secret)).not.toBeNull();
  });

  test("by tenant: one fills its share, others and the administrator still sign in", () => {
    const share = (SESSIONS_MAX * 3) / 4 / 2;
    for (let i = 0; i < share; i++) opened(`acme${i}`, "acme");
    expect(sessions.open({ sub: "1", name: "one more", g: "acme" }, CONFIG)).toEqual({
      kind: "refused",
      refusal: "over_share",
    });
    expect(sessions.size).toBe(share);
    opened("their neighbor", "other");
    opened("administrator");
    expect(ends).toEqual([]);
  });

  test("in all: what is there stays", () => {
    for (let i = 0; i < SESSIONS_MAX; i++) opened(`user${i}`);
    expect(sessions.open({ sub: "1", name: "one more", g: "noc" }, CONFIG)).toEqual({
      kind: "refused",
      refusal: "full",
    });
    expect(sessions.size).toBe(SESSIONS_MAX);
    expect(ends).toEqual([]);
    now += 3_600_000;
    opened("one more");
    expect(sessions.size).toBe(1);
  });
});

test("a session ends with its time, its provider, its client and its role", () => {
  const changes: readonly (() => void)[] = [
    () => (now += 3_600_000),
    () => (config = null),
    () => (config = { ...CONFIG, issuer: "https://other.example.net" }),
    () => (config = { ...CONFIG, clientId: "other" }),
    () => (config = { ...CONFIG, roles: [] }),
    () => (config = { ...CONFIG, sessionSeconds: 0 }),
  ];
  for (const change of changes) {
    config = CONFIG;
    const { secret } = opened("alice");
    config = { ...CONFIG };
    expect(sessions.of(secret)).not.toBeNull();
    change();
    expect(sessions.of(secret)).toBeNull();
  }
  expect(ends).toEqual(["expired", "configuration", "configuration", "configuration", "configuration", "expired"]);
});

test("a user without a name that can be shown is refused", () => {
  expect(sessions.open({ g: "noc" }, CONFIG)).toEqual({ kind: "refused", refusal: "no_name" });
  expect(sessions.open({ name: "alice", g: "noc" }, CONFIG)).toEqual({ kind: "refused", refusal: "no_name" });
});

test("the age of a session is not by the wall clock, which may be set while it lasts #sign-in-sessions", () => {
  wallAheadMs = 9 * 365 * 86_400_000;
  const { session, secret } = opened("alice");
  now += RENEW_MS;
  const next = sessions.renew(session.id) ?? "";
  expect(sessions.of(next)).not.toBeNull();
  wallAheadMs = 0;
  now += GRACE_MS + 1;
  expect(sessions.of(secret)).toBeNull();
  expect(ends).toEqual(["reused_secret"]);
  const other = opened("bob");
  wallAheadMs = -9 * 365 * 86_400_000;
  expect(sessions.of(other.secret)).not.toBeNull();
  now += 3_600_000;
  expect(sessions.of(other.secret)).toBeNull();
});

test("a user is who the provider says, not a name that another has too #sign-in-name", () => {
  const own = opened("alice");
  for (let i = 0; i < SESSIONS_PER_USER + 1; i++) sessions.open({ sub: "other", name: "alice", g: "acme" }, CONFIG);
  expect(sessions.of(own.secret)?.principal).toMatchObject({ operator: "user alice", subject: "sub of alice" });
  expect(ends).toEqual(["replaced"]);
});

test("claims of another provider than the one in force open nothing #sign-in-state", () => {
  const claims = { sub: "1", name: "alice", g: "noc" };
  const refused = { kind: "refused", refusal: "other_client" } as const;
  expect(sessions.open(claims, { ...CONFIG, issuer: "https://old.example.net" })).toEqual(refused);
  expect(sessions.open(claims, { ...CONFIG, clientId: "old" })).toEqual(refused);
  config = null;
  expect(sessions.open(claims, CONFIG)).toEqual(refused);
});

/** As a restart: the monotonic clock begins again, and the wall clock has gone on. @param ms it took */
function restart(ms: number): void {
  wallAheadMs += now + ms - 5000;
  now = 5000;
  start();
}

describe("a restart", () => {
  test("keeps a session, its age and its id, and its browser gets a new secret #sign-in-sessions", () => {
    const { session, secret } = opened("alice");
    now += 600_000;
    restart(60_000);
    expect(sessions.of(secret)).toMatchObject({ id: session.id, createdAt: session.createdAt });
    const next = sessions.renew(session.id) ?? "";
    expect(sessions.of(next)?.id).toBe(session.id);
    now += 3_600_000 - 660_001;
    expect(sessions.of(next)?.id).toBe(session.id);
    now += 1;
    expect([sessions.of(next), ends]).toEqual([null, ["expired"]]);
    expect(disk.size).toBe(0);
  });

  test("brings back none that has ended, nor one that ended meanwhile, nor the right that a reload took", () => {
    const [out, gone, late] = [opened("alice"), opened("bob", "acme"), opened("carol")];
    sessions.end(out.session.id, "signed_out");
    config = { ...CONFIG, roles: [role("noc", "other")] };
    restart(1000);
    expect([sessions.of(out.secret), sessions.of(gone.secret), ends]).toEqual([
      null,
      null,
      ["signed_out", "configuration"],
    ]);
    expect(sessions.of(late.secret)?.principal).toMatchObject({ role: "viewer", tenant: "other" });
    restart(3_600_000);
    expect([sessions.of(late.secret), disk.size]).toEqual([null, 0]);
  });

  test("after which the wall clock is earlier ends all: no one knows how old they are", () => {
    const { secret } = opened("alice");
    restart(-10_000);
    expect([sessions.of(secret), ends, disk.size]).toEqual([null, ["expired"], 0]);
  });

  test("at a time that is set right later ends a session at its time by the right one", () => {
    const { secret } = opened("alice");
    restart(1000);
    wallAheadMs += 3_600_000 - 1001;
    expect(sessions.of(secret)).not.toBeNull();
    wallAheadMs += 1;
    expect([sessions.of(secret), ends]).toEqual([null, ["expired"]]);
  });

  test("knows a secret that was sent and not used, and one that was replaced #sign-in-renewal", () => {
    const { session, secret } = opened("alice");
    now += RENEW_MS;
    const next = sessions.renew(session.id) ?? "";
    restart(1000);
    expect(sessions.of(next)?.id).toBe(session.id);
    restart(1000);
    expect(sessions.of(secret)?.id).toBe(session.id);
    now += GRACE_MS;
    expect([sessions.of(secret), sessions.of(next), ends]).toEqual([null, null, ["reused_secret"]]);
  });

  test("finds no secret on disk", () => {
    const { session, secret } = opened("alice");
    now += RENEW_MS;
    const next = sessions.renew(session.id) ?? "";
    sessions.of(next);
    const text = JSON.stringify([...disk.values()]);
    expect([secret, next].some((one) => text.includes(one))).toBe(false);
  });
});
