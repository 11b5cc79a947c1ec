/** The owner of the named sets, over a reader and a kernel that a test looks into. */
import { beforeEach, describe, expect, test } from "bun:test";
import { contentOf, KeptInMemory, prefixSet } from "../../test/fixtures/prefix-set.ts";
import type { NamedPrefixes, NamedSets } from "../dataplane/native.d.ts";
import { NAMED_PREFIXES_MAX } from "../native/constants.ts";
import type { PrefixSetConfig } from "./prefix-set-config.ts";
import { PrefixSets, type WantedSets } from "./prefix-sets.ts";
import type { ReadAnswer, ReadOrder } from "./read-answers.ts";
import type { UsersMoved } from "./set-users.ts";

/** What each file has: a number of prefixes, or an error. A changed entry has another stamp. */
const files = new Map<string, { readonly has: number | string; readonly stamp: string }>();
let reads: string[][];
/** What is on disk, by name. */
let kept: KeptInMemory;
/** What a newer file means for users. */
let moved: UsersMoved | null;
let comparedWith: (number | null)[];
let events: string[];
let builds: { readonly names: string; isOpen: boolean }[];
let buildFault: string | null;
let nowMs: number;
let pinned: string[];

let changes = 0;
function write(path: string, has: number | string): void {
  files.set(path, { has, stamp: String(++changes) });
}

beforeEach(() => {
  files.clear();
  [reads, events, builds, buildFault, nowMs, pinned] = [[], [], [], null, 1000, []];
  [kept, moved, comparedWith] = [new KeptInMemory(), null, []];
  write("/a", 2);
  write("/b", 3);
});

const set = (name: string, checks: Partial<PrefixSetConfig["checks"]> = {}) =>
  prefixSet(name, { kind: "list", path: `/${name}` }, checks);
const wanting = (...sets: PrefixSetConfig[]): WantedSets => ({ sets, isKernel: true, dropping: new Set() });
const wanted = (...names: string[]): WantedSets => wanting(...names.map((name) => set(name)));

function answerOf({ config: { source }, before }: ReadOrder): ReadAnswer {
  const file = source.kind === "builtin" ? undefined : files.get(source.path);
  if (typeof file?.has !== "number") return { error: file?.has ?? "absent" };
  return { ...contentOf(file.has), file: { stamp: file.stamp, changedMs: 7 }, moved: before === null ? null : moved };
}

async function build(sets: readonly NamedPrefixes[]): Promise<NamedSets> {
  if (buildFault !== null) throw new Error(buildFault);
  const made = { names: sets.map(({ name, bit, lengths }) => `${name}@${bit}:${lengths.length}`).join(), isOpen: true };
  builds.push(made);
  return {
    size: () => ({ prefixes: 0, ranges: 0, bytes: 0 }),
    close: () => {
      made.isOpen = false;
    },
  };
}

function open(wantedSets: WantedSets = wanted("a", "b")): Promise<PrefixSets> {
  return PrefixSets.open(wantedSets, {
    read: async ({ sets }) => {
      reads.push(sets.map(({ config: { name } }) => name));
      comparedWith.push(...sets.map(({ before }) => before?.lengths.length ?? null));
      return sets.map(answerOf);
    },
    kept,
    users: () => new Uint8Array(16),
    build,
    pinned,
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    every: () => () => {},
    stampOf: async (path) => files.get(path)?.stamp ?? "",
    observer: {
      failed: (name, error, isNew) => events.push(`${name} failed: ${error}${isNew ? "" : " again"}`),
      updated: (name, prefixes) => events.push(`${name} has ${prefixes}`),
      changed: () => {},
      notKept: (cause) => events.push(`not kept: ${String(cause)}`),
      refused: (cause) => events.push(`refused: ${(cause as Error).message ?? cause}`),
    },
  });
}

const builtNow = () => builds.filter(({ isOpen }) => isOpen).map(({ names }) => names);
const errors = (sets: PrefixSets) => sets.views().map(({ error }) => error);

describe("at the start", () => {
  test("all sets are read, and made for the kernel together", async () => {
    const sets = await open();
    expect(builtNow()).toEqual(["a@0:2,b@1:3"]);
    expect(sets.views()).toEqual([
      { config: set("a"), prefixes: 2, hash: "hash of 2", fileChangedMs: 7, readMs: 1000, error: null },
      { config: set("b"), prefixes: 3, hash: "hash of 3", fileChangedMs: 7, readMs: 1000, error: null },
    ]);
    expect([sets.bitOf("a"), sets.bitOf("b"), sets.bitOf("c"), sets.bitOf("")]).toEqual([0, 1, null, null]);
  });

  test("a set without good prefixes is not in force, keeps its bit, and is tried again", async () => {
    write("/b", "torn");
    const sets = await open();
    expect(builtNow()).toEqual(["a@0:2"]);
    expect([sets.bitOf("a"), sets.bitOf("b")]).toEqual([0, null]);
    expect(sets.views()[1]).toMatchObject({ prefixes: 0, hash: null, readMs: null, error: "torn" });
    expect(events).toEqual(["b failed: torn"]);
    write("/b", 3);
    await sets.watch();
    expect(builtNow()).toEqual(["a@0:2,b@1:3"]);
    expect(sets.bitOf("b")).toBe(1);
  });

  test.each(["torn", null])("where a file is %p, what an earlier process kept of it is in force", async (has) => {
    await open();
    expect([...kept.sets.keys()]).toEqual(["a", "b"]);
    if (has === null) files.delete("/b");
    else write("/b", has);
    const sets = await open();
    expect(builtNow()).toEqual(["a@0:2,b@1:3", "a@0:2,b@1:3"]);
    expect(sets.views()[1]).toMatchObject({ prefixes: 3, hash: "hash of 3", fileChangedMs: 7, error: has ?? "absent" });
    write("/b", 4);
    await sets.watch();
    expect(kept.sets.get("b")?.content.size.prefixes).toBe(4);
  });

  test("what was kept of another file under this name is not used", async () => {
    await open();
    write("/b", "torn");
    const other = { ...set("b"), source: { kind: "list", path: "/c" } as const };
    const sets = await open(wanting(set("a"), other));
    expect(sets.views()[1]).toMatchObject({ prefixes: 0, error: "absent" });
  });

  test("what is kept of sets that are removed is removed", async () => {
    const sets = await open();
    await sets.prepare(wanted("a"));
    sets.apply();
    expect([...kept.sets.keys()]).toEqual(["a"]);
  });

  test("sets keep the bits that an earlier process gave them", async () => {
    pinned = ["gone", "", "b"];
    await open();
    expect(builtNow()).toEqual(["a@1:2,b@2:3"]);
  });

  test("nothing is made for a kernel that drops nothing, nor where no set is wanted or in force", async () => {
    expect((await open({ ...wanted("a"), isKernel: false })).forKernel()).toBeNull();
    expect((await open(wanted())).forKernel()).toBeNull();
    expect(builds).toEqual([]);
  });

  test("sets of an earlier process are emptied when none is wanted", async () => {
    pinned = ["old"];
    expect((await open(wanted())).forKernel()).not.toBeNull();
    expect(builtNow()).toEqual([""]);
  });

  test("what the kernel refuses is not taken for none, and is tried again", async () => {
    buildFault = "no memory";
    const sets = await open();
    expect(() => sets.forKernel()).toThrow("no memory");
    buildFault = null;
    await sets.watch();
    expect(sets.forKernel()).not.toBeNull();
    expect(events).toEqual(["refused: no memory"]);
  });

  test("all sets together have a bound", async () => {
    write("/a", NAMED_PREFIXES_MAX - 2);
    const [, error] = errors(await open());
    expect(error).toStartWith(`3 prefixes, with ${NAMED_PREFIXES_MAX - 2} of other sets, are more`);
    kept.sets.clear();
    write("/a", NAMED_PREFIXES_MAX - 3);
    expect(errors(await open())).toEqual([null, null]);
  });
});

describe("while it runs", () => {
  test("files that did not change are not read", async () => {
    const sets = await open();
    await sets.watch();
    expect(reads).toEqual([["a", "b"]]);
  });

  test("two looks at once are one", async () => {
    const sets = await open();
    write("/b", 5);
    await Promise.all([sets.watch(), sets.watch()]);
    expect(events).toEqual(["b has 5"]);
    write("/b", 6);
    await sets.watch();
    expect(reads).toHaveLength(3);
  });

  test("a changed file replaces all sets, and the old ones are closed", async () => {
    const sets = await open();
    write("/b", 5);
    nowMs = 2000;
    await sets.watch();
    expect(reads).toEqual([["a", "b"], ["b"]]);
    expect(builtNow()).toEqual(["a@0:2,b@1:5"]);
    expect(events).toEqual(["b has 5"]);
    expect(sets.views().map(({ readMs }) => readMs)).toEqual([1000, 2000]);
  });

  test("a file that was written again with the same content replaces nothing", async () => {
    const sets = await open();
    write("/b", 3);
    await sets.watch();
    expect(builds).toHaveLength(1);
    expect(events).toEqual(["b has 3"]);
    await sets.watch();
    expect(reads).toHaveLength(2);
  });

  test.each(["torn", null])(
    "a file that is %p leaves the last good prefixes, says so, and is tried again",
    async (has) => {
      const sets = await open();
      if (has === null) files.delete("/b");
      else write("/b", has);
      await sets.watch();
      const error = has ?? "absent";
      expect(errors(sets)).toEqual([null, error]);
      expect(sets.views()[1]?.prefixes).toBe(3);
      await sets.watch();
      expect(reads).toHaveLength(2);
      nowMs += 60_000;
      await sets.watch();
      expect(events).toEqual([`b failed: ${error}`, `b failed: ${error} again`]);
      expect(builds).toHaveLength(1);
      write("/b", 4);
      await sets.watch();
      expect(errors(sets)).toEqual([null, null]);
      expect(builtNow()).toEqual(["a@0:2,b@1:4"]);
    },
  );

  test("a set that grows beyond the bound of all keeps its last good prefixes", async () => {
    const sets = await open(wanting(set("a", { changePercentMax: 100 }), set("b")));
    write("/a", NAMED_PREFIXES_MAX - 2);
    await sets.watch();
    expect(errors(sets)[0]).toContain("are more than");
    expect(builtNow()).toEqual(["a@0:2,b@1:3"]);
  });

  test("the sets before stay in force when the kernel refuses new ones, which are tried again", async () => {
    const sets = await open();
    const before = sets.forKernel();
    write("/a", 9);
    buildFault = "no memory";
    await sets.watch();
    expect(sets.forKernel()).toBe(before);
    buildFault = null;
    await sets.watch();
    expect(builtNow()).toEqual(["a@0:9,b@1:3"]);
    expect(events).toEqual(["a has 9", "refused: no memory"]);
  });
});

describe("a newer file is not used until the operator accepts it", () => {
  const large = wanted("a", "b");
  beforeEach(() => write("/a", 1000));

  test.each([
    ["shrank", 499, "shrank from 1000 to 499 prefixes"],
    ["grew", 2001, "grew from 1000 to 2001 prefixes"],
  ])("where it %s by more than half of the larger", async (_, prefixes, message) => {
    const sets = await open(large);
    write("/a", prefixes);
    await sets.watch();
    expect(errors(sets)[0]).toStartWith(message);
    expect(errors(sets)[0]).toEndWith(`set accept: hash of ${prefixes} of the set if it is meant`);
    expect(builtNow()).toEqual(["a@0:1000,b@1:3"]);
    expect(kept.sets.get("a")?.content.size.prefixes).toBe(1000);
  });

  test.each([500, 2000])("which changes to %d prefixes do not need", async (prefixes) => {
    const sets = await open(large);
    write("/a", prefixes);
    await sets.watch();
    expect(errors(sets)).toEqual([null, null]);
  });

  test("also at a start, against what is kept", async () => {
    await open(large);
    write("/a", 10);
    const sets = await open(large);
    expect(errors(sets)[0]).toStartWith("shrank from 1000 to 10");
    expect(sets.views()[0]?.prefixes).toBe(1000);
  });

  test("where it takes in too many users of the last minute, or leaves them out", async () => {
    const sets = await open(large);
    expect(comparedWith).toEqual([null, null]);
    moved = { known: 100, into: 11, outOf: 0 };
    write("/a", 1001);
    await sets.watch();
    expect(comparedWith).toEqual([null, null, 1000]);
    expect(errors(sets)[0]).toStartWith("takes in 11 of the 100 users");
    moved = { known: 100, into: 5, outOf: 6 };
    write("/a", 1002);
    await sets.watch();
    expect(errors(sets)[0]).toStartWith("no longer has 6 of the 100 users");
    moved = { known: 100, into: 5, outOf: 5 };
    write("/a", 1003);
    await sets.watch();
    expect(errors(sets)[0]).toBeNull();
  });

  test("which is needed for the first prefixes of a set whose members are dropped", async () => {
    moved = { known: 100, into: 50, outOf: 0 };
    const sets = await open({ ...large, dropping: new Set(["a"]) });
    expect(comparedWith).toEqual([0, null]);
    expect(errors(sets)[0]).toStartWith("takes in 50 of the 100 users");
    expect(builtNow()).toEqual(["b@1:3"]);
  });

  test("who gives it for this one file", async () => {
    const sets = await open(large);
    write("/a", 10);
    await sets.watch();
    const accepting = wanting(set("a", { accepted: "hash of 10" }), set("b"));
    await sets.prepare(accepting);
    sets.apply();
    expect(errors(sets)).toEqual([null, null]);
    expect(builtNow()).toEqual(["a@0:10,b@1:3"]);
    write("/a", 1000);
    await sets.watch();
    expect(errors(sets)[0]).toStartWith("grew from 10 to 1000");
  });
});

describe("a reload", () => {
  test("reads what is new, changes nothing before it is applied, and keeps bits", async () => {
    const sets = await open();
    write("/c", 1);
    await sets.prepare(wanted("c", "b"));
    expect(sets.bitOf("c")).toBeNull();
    expect(builtNow()).toEqual(["a@0:2,b@1:3", "c@2:1,b@1:3"]);
    sets.apply();
    expect(reads).toEqual([["a", "b"], ["c"]]);
    expect(builtNow()).toEqual(["c@2:1,b@1:3"]);
    expect([sets.bitOf("a"), sets.bitOf("b"), sets.bitOf("c")]).toEqual([null, 1, 2]);
  });

  test("is not refused for a set that had no good prefixes before", async () => {
    write("/a", "torn");
    const sets = await open();
    await sets.prepare(wanted("a", "b"));
    sets.apply();
    expect(errors(sets)).toEqual(["torn", null]);
  });

  test("is refused where a new set is damaged, and not where one has good prefixes", async () => {
    const sets = await open();
    write("/c", "torn");
    expect(sets.prepare(wanted("a", "c"))).rejects.toThrow("prefix_sets: c: torn");
    write("/a", "torn");
    await sets.prepare(wanted("a"));
    sets.apply();
    expect(errors(sets)).toEqual(["torn"]);
    expect(builtNow()).toEqual(["a@0:2"]);
  });

  test("that does not come to be applied leaves nothing behind", async () => {
    const sets = await open();
    await sets.prepare(wanted("a"));
    await sets.prepare(wanted("b"));
    sets.apply();
    sets.apply();
    expect(builtNow()).toEqual(["b@1:3"]);
  });

  test("is refused when the kernel refuses the sets", async () => {
    const sets = await open();
    buildFault = "no memory";
    expect(sets.prepare(wanted("a"))).rejects.toThrow("no memory");
  });

  test("that changes no set makes nothing", async () => {
    const sets = await open();
    const before = sets.forKernel();
    await sets.prepare(wanted("b", "a"));
    await sets.prepare(wanted("b", "a"));
    sets.apply();
    expect(sets.forKernel()).toBe(before);
    expect(builtNow()).toEqual(["a@0:2,b@1:3"]);
    expect(sets.views().map(({ config: { name } }) => name)).toEqual(["b", "a"]);
  });

  test("of another file of the same name reads it", async () => {
    const sets = await open();
    await sets.prepare(wanting(prefixSet("a", { kind: "list", path: "/b" })));
    sets.apply();
    expect(builtNow()).toEqual(["a@0:3"]);
  });
});
