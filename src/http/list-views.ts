/**
 * The views of one list: the whole of it, written once for all callers of a tenant, or what a query wants of it, which has
 * a place of its own (list-pages.ts).
 */
import type { ListPages } from "./list-pages.ts";
import type { Refusal } from "./refusal.ts";
import type { Call } from "./route.ts";
import { jsonBlobAnswer } from "./server/answer.ts";
import { type Reader, type Slicing, TablePass } from "./table-pass.ts";

export const TOO_MANY_PAGES = {
  429: { text: "Too many pages are read at once; Retry-After says when to try again." },
} as const;

export interface ListViewing {
  readonly pages: ListPages;
  readonly slicing: Slicing;
}

export class ListViews<Item> {
  readonly #pass: TablePass<Item>;
  readonly #pages: ListPages;
  readonly #parameters: readonly string[];

  /** @param parameters of the query that choose a view. */
  constructor(items: () => Iterable<Item | undefined>, { pages, slicing }: ListViewing, parameters: object) {
    this.#pass = new TablePass(items, slicing);
    this.#pages = pages;
    this.#parameters = Object.keys(parameters);
  }

  async answer({ principal, query }: Call, makeReader: () => Reader<Item>): Promise<Response | Refusal> {
    const { tenant } = principal;
    const chosen = this.#parameters.map((name) => query.getAll(name).at(-1) ?? null);
    const read = () => this.#pass.read(JSON.stringify([tenant, ...chosen]), makeReader, tenant);
    const answer = chosen.every((value) => value === null) ? await read() : await this.#pages.read(principal, read);
    return answer instanceof Blob ? jsonBlobAnswer(answer) : answer;
  }
}
