/** Compares slots and challenges with a simple model of the rules, through random calls, reloads and passing time. */
import { expect, test } from "bun:test";
import { acmeCalls } from "../../../test/fixtures/edge/edge.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { AcmeIssuance } from "./acme-issuance.ts";

const NODES = ["e1", "e2"];
const ZONES = ["a.example.net", "b.example.net", "c.example.net"];
const TOKENS = Array.from({ length: 40 }, (_, i) => `t${i}`);
const LIFE_MS = 600_000;
const STEPS = 5000;
const SEED = Number(process.env["SEED"] ?? Date.now() % 1_000_000);

interface Grant {
  readonly zone: string;
  readonly node: string;
  readonly endMs: number;
}
interface Challenge extends Grant {
  readonly token: string;
  readonly keyAuthorization: string;
}

/** All records, the latest last; each query searches all of them. */
class Model {
  grants: Grant[] = [];
  challenges: Challenge[] = [];

  holderOf(zone: string, nowMs: number): string | null {
    return this.grants.findLast((grant) => grant.zone === zone && grant.endMs > nowMs)?.node ?? null;
  }

  live(nowMs: number): Challenge[] {
    const latest = this.challenges.filter(
      ({ zone, token }, i) => this.challenges.findLastIndex((c) => c.zone === zone && c.token === token) === i,
    );
    return latest.filter(({ endMs }) => endMs > nowMs);
  }

  publish(challenge: Challenge, nowMs: number): string {
    const { zone, token, node, keyAuthorization } = challenge;
    if (this.holderOf(zone, nowMs) !== node) return "no_slot";
    const live = this.live(nowMs);
    const same = live.find((other) => other.zone === zone && other.token === token);
    if (same !== undefined && same.keyAuthorization !== keyAuthorization) return "other_key_authorization";
    if (live.filter((other) => other.node === node && other !== same).length >= 16) return "too_many_challenges";
    this.challenges.push(challenge);
    return "published";
  }
}

test(`answers and documents follow the rules in any order (seed ${SEED})`, () => {
  const random = seededRandom(SEED);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const model = new Model();
  let nowMs = Date.UTC(2026, 2, 1, 12);
  let unserved = "";
  const serves = (node: string, zone: string) => `${node} ${zone}` !== unserved;
  const acme = new AcmeIssuance({ serves, onChange: () => {}, observer: acmeCalls([]) });
  const steps: Readonly<Record<string, (node: string, zone: string) => void>> = {
    request(node, zone) {
      const answer = acme.requestSlot(node, zone, nowMs);
      const holder = model.holderOf(zone, nowMs);
      if (!serves(node, zone)) expect(answer.kind).toBe("unknown_zone");
      else if (holder === null || holder === node) {
        expect(answer).toEqual({ kind: "granted", expiresAtMs: nowMs + LIFE_MS });
        model.grants.push({ zone, node, endMs: nowMs + LIFE_MS });
      } else {
        const leftMs = (model.grants.findLast((grant) => grant.zone === zone)?.endMs ?? 0) - nowMs;
        const retryAfterSeconds = Math.min(30, Math.ceil(leftMs / 1000));
        expect(answer).toEqual({ kind: "held", holder, retryAfterSeconds });
      }
    },
    release(node, zone) {
      const isAll = random() < 0.2;
      acme.releaseSlot(node, isAll ? null : zone);
      model.grants = model.grants.filter((grant) => grant.node !== node || !(isAll || grant.zone === zone));
    },
    publish(node, zone) {
      const token = pick(TOKENS);
      const keyAuthorization = `${token}.${random() < 0.9 ? "x" : "y"}`;
      const answer = acme.publish(node, { zone, token, keyAuthorization }, nowMs);
      const said: string = answer.kind === "refused" ? answer.refusal : answer.kind;
      const challenge = { zone, node, token, keyAuthorization, endMs: nowMs + LIFE_MS };
      expect(said).toBe(serves(node, zone) ? model.publish(challenge, nowMs) : "unknown_zone");
    },
    wait() {
      const ends = [...model.grants, ...model.challenges].map(({ endMs }) => endMs);
      // Including the exact end of a period.
      nowMs = ends.length > 0 && random() < 0.1 ? pick(ends) : nowMs + Math.floor(random() ** 8 * LIFE_MS);
      if (random() < 0.5) acme.settle(nowMs);
    },
    reload() {
      if (random() < 0.9) return;
      unserved = random() < 0.5 ? "" : `${pick(NODES)} ${pick(ZONES)}`;
      acme.reconfigure();
      model.grants = model.grants.filter(({ node, zone }) => serves(node, zone));
      const gone = model.live(nowMs).filter(({ node, zone }) => !serves(node, zone));
      model.challenges = model.live(nowMs).filter((challenge) => !gone.includes(challenge));
    },
  };
  /** Expired items may still be there before settle(). */
  const isLive = ({ expiresAtMs }: { readonly expiresAtMs: number }) => expiresAtMs > nowMs;
  const kinds = ["request", "release", "wait", "reload", ...Array<string>(6).fill("publish")];
  for (let step = 0; step < STEPS; step++) {
    steps[pick(kinds)]?.(pick(NODES), pick(ZONES));
    model.grants = model.grants.filter(({ endMs }) => endMs > nowMs);
    model.challenges = model.live(nowMs);
    expect(
      acme.grants
        .filter(isLive)
        .map(({ zone, node }) => `${zone} ${node}`)
        .toSorted(),
    ).toEqual(ZONES.flatMap((zone) => model.holderOf(zone, nowMs)?.replace(/^/, `${zone} `) ?? []));
    expect(acme.challenges.filter(isLive).map(textOf).toSorted()).toEqual(
      model.challenges.map((c) => textOf({ ...c, expiresAtMs: c.endMs })).toSorted(),
    );
  }
});

function textOf({
  zone,
  token,
  keyAuthorization,
  expiresAtMs,
}: Omit<Challenge, "endMs" | "node"> & { readonly expiresAtMs: number }): string {
  return `${zone} ${token} ${keyAuthorization} ${expiresAtMs}`;
}
