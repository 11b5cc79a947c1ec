import { expect, test } from "bun:test";
import { thresholds } from "../../test/fixtures/host-rows.ts";
import { attack } from "../../test/fixtures/views.ts";
import { AttackNews, CHANGE_PAUSE_MS } from "./attack-news.ts";

function at(pps: number) {
  return attack({ id: "a", metric: "pps", rates: thresholds({ pps }) });
}

test("a start and an end are told, each time that they are reported", () => {
  const news = new AttackNews();
  expect(news.take("started", at(1000), 0)).toBe("attack_started");
  expect(news.take("lasts", at(1500), 100)).toBeNull();
  expect(news.take("ended", at(1500), 200)).toBe("attack_ended");
});

test("a rate that has doubled is told, once, and not before the pause is over", () => {
  const news = new AttackNews();
  news.take("started", at(1000), 0);
  expect(news.take("lasts", at(2000), CHANGE_PAUSE_MS - 1)).toBeNull();
  expect(news.take("lasts", at(1999), CHANGE_PAUSE_MS)).toBeNull();
  expect(news.take("lasts", at(2000), CHANGE_PAUSE_MS)).toBe("attack_changed");
  expect(news.take("lasts", at(3999), 3 * CHANGE_PAUSE_MS)).toBeNull();
  expect(news.take("lasts", at(4000), 3 * CHANGE_PAUSE_MS)).toBe("attack_changed");
});

test("an attack of an earlier process is not told again, but its growth and its end are", () => {
  const news = new AttackNews();
  expect(news.take("lasts", at(1000), 0)).toBeNull();
  expect(news.take("lasts", at(2000), CHANGE_PAUSE_MS)).toBe("attack_changed");
  expect(news.take("ended", at(2000), CHANGE_PAUSE_MS)).toBe("attack_ended");
});
