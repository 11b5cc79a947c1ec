/**
 * The provider of a block list turns hostile: whatever is written to its file, and whenever the service is killed, no wide
 * prefix is in force, no file moves many users at once, and a good file is in use at once. SEED repeats one provider, or is
 * the first of SEEDS.
 */
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NamedPrefixes } from "../../src/dataplane/native.d.ts";
import { writeAddress } from "../../src/net/address.ts";
import type { PrefixColumns } from "../../src/net/prefix-columns.ts";
import { type KeepSets, KeptSets } from "../../src/prefixset/kept-sets.ts";
import { PrefixSets } from "../../src/prefixset/prefix-sets.ts";
import { answersTo } from "../../src/prefixset/read-answers.ts";
import { usersMoved } from "../../src/prefixset/set-users.ts";
import { address } from "../fixtures/host-rows.ts";
import { prefixSet } from "../fixtures/prefix-set.ts";
import { Chance, seededRandom } from "../fixtures/seeded-random.ts";
import { seedsOfRun } from "../fixtures/seeds.ts";

const SEEDS_SHORT = 20;
const STEPS = 80;
const USERS = 200;
const LINES = 400;
const PERCENT = 10;
/** Of IPv4: a /8, in the mapped form. */
const SHORTEST = 96 + 8;
const RETRY_MS = 60_000;

const seeds = seedsOfRun(SEEDS_SHORT);

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

const NONE: PrefixColumns = { addresses: new Uint8Array(0), lengths: new Uint8Array(0) };

/** A file that its provider writes, and the service that reads it. */
class Provided {
  readonly happened = new Map<string, number>();
  readonly #chance: Chance;
  readonly #directory = mkdtempSync(join(tmpdir(), `floodwall-list-${process.pid}-`));
  readonly #path = join(this.#directory, "drop.txt");
  readonly #config = prefixSet("drop", { kind: "list", path: this.#path });
  readonly #users: readonly string[];
  readonly #writes: Promise<void>[] = [];
  /** A good file. */
  #lines: string[];
  #inForce: PrefixColumns = NONE;
  #wasInForce = false;
  #nowMs = 0;
  #sets: PrefixSets | null = null;

  private constructor(chance: Chance) {
    this.#chance = chance;
    this.#users = Array.from(
      { length: USERS },
      () => `198.${18 + chance.below(2)}.${chance.below(256)}.${chance.below(256)}`,
    );
    this.#lines = Array.from({ length: LINES }, () => this.#foreign());
    this.#write(this.#text());
  }

  static async of(chance: Chance): Promise<Provided> {
    const made = new Provided(chance);
    undo.push(() => made.#close());
    await made.#start();
    return made;
  }

  /** Returns the broken promise; null: none. */
  async step(): Promise<string | null> {
    const before = this.#inForce;
    const [what, text] = this.#chance.oneIn(3) ? this.#goodEdit() : this.#hostileEdit();
    this.happened.set(what, (this.happened.get(what) ?? 0) + 1);
    if (text === null) rmSync(this.#path, { force: true });
    else this.#write(text);
    this.#nowMs += RETRY_MS;
    if (this.#chance.oneIn(4)) await this.#start();
    else await this.#sets?.watch();
    await Promise.all(this.#writes.splice(0));
    return this.#broken(before, what);
  }

  #broken(before: PrefixColumns, what: string): string | null {
    const { lengths } = this.#inForce;
    if (lengths.some((length) => length < SHORTEST)) return `${what}: a wide prefix is in force`;
    const { into, outOf, known } = usersMoved(before, this.#inForce, this.#userRows());
    if (this.#wasInForce && (into + outOf) * 100 > PERCENT * known) return `${what}: ${into} and ${outOf} users moved`;
    const isInForce = this.#sets?.bitOf("drop") != null;
    if (this.#wasInForce && !isInForce) return `${what}: the set is not in force any more`;
    this.#wasInForce ||= isInForce;
    const [view] = this.#sets?.views() ?? [];
    if (what === "good" && view?.error !== null) return `a good file is refused: ${view?.error}`;
    return what === "cut" || what === "good" || what === "few users" || view?.error != null
      ? null
      : `${what}: is in use`;
  }

  #goodEdit(): readonly [string, string] {
    const kept = this.#lines.filter(() => !this.#chance.oneIn(20));
    this.#lines = [...kept, ...Array.from({ length: LINES - kept.length }, () => this.#foreign())];
    return ["good", this.#text()];
  }

  #hostileEdit(): readonly [string, string | null] {
    const text = this.#text();
    const [lines, users] = [this.#lines, this.#users];
    const edits: readonly (readonly [string, string | null])[] = [
      ["all addresses", `${text}0.0.0.0/0\n`],
      ["half of all addresses", `${text}128.0.0.0/1\n0.0.0.0/1\n`],
      ["a cut length", `${text}192.0.2.128/2`],
      ["cut", text.slice(0, this.#chance.below(text.length))],
      ["empty", ""],
      ["gone", null],
      ["another file", "<html>502 Bad Gateway</html>\n"],
      ["no text", String.fromCharCode(0, 1, 2, 255, 10).repeat(200)],
      ["all users", [...lines, ...users, ""].join("\n")],
      ["networks of users", `${text}198.18.0.0/16\n198.19.0.0/16\n`],
      ["few lines", [...lines.slice(0, 3), ""].join("\n")],
      ["very many lines", [...lines, ...Array.from({ length: 4 * LINES }, () => this.#foreign()), ""].join("\n")],
      ["few users", [...lines, ...users.slice(0, this.#chance.below(USERS / 20)), ""].join("\n")],
    ];
    return this.#chance.oneOf(edits);
  }

  #text(): string {
    return [...this.#lines, ""].join("\n");
  }

  /** A source that no user has. */
  #foreign(): string {
    return `203.${Array.from({ length: 3 }, () => this.#chance.below(256)).join(".")}`;
  }

  #write(text: string): void {
    writeFileSync(this.#path, text);
  }

  #userRows(): Uint8Array {
    const rows = new Uint8Array(16 * USERS);
    for (const [i, user] of this.#users.entries()) writeAddress(address(user), rows.subarray(16 * i, 16 * (i + 1)));
    return rows;
  }

  /** A service that was killed starts again. */
  async #start(): Promise<void> {
    const build = async (sets: readonly NamedPrefixes[]) => {
      const [set] = sets;
      this.#inForce =
        set === undefined ? NONE : { addresses: new Uint8Array(set.addresses), lengths: new Uint8Array(set.lengths) };
      return { size: () => ({ prefixes: 0, ranges: 0, bytes: 0 }), close: () => {} };
    };
    this.#sets = await PrefixSets.open(
      { sets: [this.#config], isKernel: true, dropping: new Set(["drop"]) },
      {
        read: async (orders) => answersTo(orders),
        kept: this.#kept(),
        users: () => this.#userRows(),
        build,
        pinned: [],
        wallMs: () => this.#nowMs,
        monotonicMs: () => this.#nowMs,
        every: () => () => {},
        observer: { failed() {}, updated() {}, changed() {}, notKept() {}, refused() {} },
      },
    );
    await Promise.all(this.#writes.splice(0));
  }

  #kept(): KeepSets {
    const files = new KeptSets(this.#directory);
    const keep: KeepSets["keep"] = (config, content) => {
      const written = files.keep(config, content);
      this.#writes.push(written);
      return written;
    };
    return { read: (config) => files.read(config), keep, retain: (sets) => files.retain(sets) };
  }

  #close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

test(`a hostile provider drops no users: ${seeds.length} of them (SEED=${seeds[0]} and following)`, async () => {
  const failed: string[] = [];
  const happened = new Map<string, number>();
  for (const seed of seeds) {
    const provided = await Provided.of(new Chance(seededRandom(Math.imul(seed, 0x9e3779b1))));
    for (let step = 0; step < STEPS; step++) {
      const broken = await provided.step();
      if (broken !== null) {
        failed.push(`SEED=${seed}, step ${step}: ${broken}`);
        break;
      }
    }
    for (const [what, times] of provided.happened) happened.set(what, (happened.get(what) ?? 0) + times);
    for (const step of undo.splice(0)) step();
  }
  console.log([...happened].map(([what, times]) => `${what} ${times}`).join(", "));
  expect(failed).toEqual([]);
}, 36_000_000);
