import { expect, test } from "bun:test";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import { SCRAPE_TEXT_MS, ScrapeText } from "./scrape-text.ts";

function setUp(write?: (count: number) => Promise<string>) {
  const clock = new ManualClock();
  let written = 0;
  const shared = new ScrapeText(async () => {
    written++;
    return (await write?.(written)) ?? `text ${written}`;
  }, clock);
  return { clock, shared, read: async () => (await shared.read()).text(), written: () => written };
}

test("readers within a second share one text, and the next second has another", async () => {
  const { clock, read } = setUp();
  expect(await Promise.all([read(), read(), read()])).toEqual(["text 1", "text 1", "text 1"]);
  clock.advance(SCRAPE_TEXT_MS - 1);
  expect(await read()).toBe("text 1");
  clock.advance(1);
  expect(await read()).toBe("text 2");
});

test("while a text is written no other is begun, however long it takes", async () => {
  const slow = Promise.withResolvers<string>();
  const { clock, read, written } = setUp(() => slow.promise);
  const first = read();
  clock.advance(10 * SCRAPE_TEXT_MS);
  const second = read();
  expect(written()).toBe(1);
  slow.resolve("slow");
  expect(await Promise.all([first, second])).toEqual(["slow", "slow"]);
  await read();
  expect(written()).toBe(2);
});

test("a text that fails is that reader's error, and the next reader has a new one", async () => {
  const { read } = setUp((count) => (count === 1 ? Promise.reject(new Error("no")) : Promise.resolve("yes")));
  expect(await read().catch((cause: Error) => cause.message)).toBe("no");
  expect(await read()).toBe("yes");
});
