/** The attacks in progress and the last ended ones, page by page, since a thousand attacks are several megabytes. */
import type { AttacksWire } from "../../src/http/wire/attack.ts";
import { ATTACKS_PAGE_MAX } from "../../src/limits.ts";
import type { Answer } from "./client.ts";

/** All pages as one list. An attack that ended between two pages is on both: the later one counts. */
export async function readAttacks(
  readPage: (path: string) => Promise<Answer<AttacksWire>>,
): Promise<Answer<AttacksWire>> {
  const active = new Map<string, AttacksWire["active"][number]>();
  const recent: AttacksWire["recent"] = [];
  for (let after: string | undefined; ; ) {
    const query = new URLSearchParams({ limit: String(ATTACKS_PAGE_MAX), ...(after !== undefined && { after }) });
    const page = await readPage(`/api/v1/attacks?${query}`);
    if (page.kind !== "answer") return page;
    for (const attack of page.data.active) active.set(attack.id, attack);
    for (const attack of page.data.recent) active.delete(attack.id);
    recent.push(...page.data.recent);
    after = page.data.next;
    if (after === undefined) return { ...page, data: { active: [...active.values()].reverse(), recent } };
  }
}
