import { beforeEach, describe, expect, test } from "bun:test";
import { LIST_PAGES_MAX, LIST_PAGES_PER_TOKEN } from "../limits.ts";
import { ListPages } from "./list-pages.ts";

const REFUSED = { kind: "too_many_pages" };

let waiting: PromiseWithResolvers<Blob>[];
let pages: ListPages;

beforeEach(() => {
  waiting = [];
  pages = new ListPages();
});

function ask(operator: string) {
  return pages.read({ operator, tenant: null }, () => {
    const answer = Promise.withResolvers<Blob>();
    waiting.push(answer);
    return answer.promise;
  });
}

async function answerAll(): Promise<void> {
  for (const { resolve } of waiting.splice(0)) resolve(new Blob(["{}"]));
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
}

const askTimes = (count: number, operator: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => ask(operator(i)));

describe("pages of lists #hosts-pages-are-bounded", () => {
  test("of one token are as many at once as its bound, and again when they are made", async () => {
    const first = askTimes(LIST_PAGES_PER_TOKEN, () => "noc");
    expect(await ask("noc")).toEqual(REFUSED as never);
    const other = ask("other");
    await answerAll();
    expect(await Promise.all([...first, other])).not.toContainEqual(REFUSED as never);
    const again = ask("noc");
    await answerAll();
    expect(await again).toBeInstanceOf(Blob);
  });

  test("of all tokens are bounded too, and so are those of an open API", async () => {
    const all = askTimes(LIST_PAGES_MAX, (i) => (i % 2 === 0 ? "" : `token ${i}`));
    expect(await ask("")).toEqual(REFUSED as never);
    expect(await ask("noc")).toEqual(REFUSED as never);
    await answerAll();
    expect(await Promise.all(all)).not.toContainEqual(REFUSED as never);
  });

  test("that fail leave their place", async () => {
    const failing = askTimes(LIST_PAGES_PER_TOKEN, () => "noc");
    for (const { reject } of waiting.splice(0)) reject(new Error("the packet counter is closed"));
    for (const outcome of await Promise.allSettled(failing)) expect(outcome.status).toBe("rejected");
    const again = ask("noc");
    await answerAll();
    expect(await again).toBeInstanceOf(Blob);
  });
});
