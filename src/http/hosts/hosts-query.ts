/**
 * The parameters of GET /api/v1/hosts: filter, order, page size and cursor. Rates change between two pages, so a page
 * continues after a place in the order, not after a number of hosts.
 */

import { Type } from "@sinclair/typebox";
import { addressOrder, parseAddress } from "../../net/address.ts";
import { type Prefix, parsePrefixLoosely } from "../../net/prefix.ts";
import { oneOf } from "../../schema/schema-forms.ts";
import { type InvalidQuery, invalidQuery, parameter } from "../server/query.ts";
import { NameText } from "../wire/request-texts.ts";

/** Hosts of one page. */
export const HOSTS_PAGE_MAX = 1000;

export interface HostsPageQuery {
  readonly kind: "page";
  readonly limit: number;
  readonly sort: HostSort;
  /** The page starts after this place; null: at the first host. */
  readonly after: Place | null;
  /** A part of the address, or a prefix that contains it. */
  readonly search: string | Prefix | null;
  readonly group: string | null;
  readonly tenant: string | null;
  readonly state: HostState | null;
}

const HOST_STATES = ["attacked", "calm"] as const;
type HostState = (typeof HOST_STATES)[number];

interface HostSort {
  readonly by: "target" | "pps" | "mbps" | "flows_per_sec";
  readonly isDescending: boolean;
}

/** A host's place in the order: by rate (0 if sorted by target), then by address. */
export interface Place {
  readonly rate: number;
  readonly order: string;
}

const DEFAULT_LIMIT = 100;

export const HOSTS_PARAMETERS = {
  limit: {
    text: `Hosts on the page, ${DEFAULT_LIMIT} where any other of these is given.`,
    schema: Type.Integer({ minimum: 1, maximum: HOSTS_PAGE_MAX }),
  },
  after: { text: "What next was on the page before, in the same sort.", schema: NameText },
  q: {
    text: "A part of the address, or a prefix that it is in, as 192.0.2.0/24.",
    schema: Type.String({ pattern: "^([0-9A-Fa-f.:]{1,39}|([1-9]?[0-9]\\.){3}[1-9]?[0-9]/([1-9]|[12][0-9]|3[0-2]))$" }),
  },
  group: { text: "Name of the hostgroup.", schema: NameText },
  tenant: { text: "Only hosts of this tenant.", schema: NameText },
  state: { text: "Only hosts that are attacked now, or that are not.", schema: oneOf(...HOST_STATES) },
  sort: {
    text: "Default: target. With - in front descending; hosts of equal rates are in order of address.",
    schema: oneOf("target", "-target", "pps", "-pps", "mbps", "-mbps", "flows_per_sec", "-flows_per_sec"),
  },
};
const PARAMETERS = Object.keys(HOSTS_PARAMETERS);

/** null: no parameter is given, so all hosts are returned. */
export function hostsPageQuery(query: URLSearchParams): HostsPageQuery | InvalidQuery | null {
  if (!PARAMETERS.some((name) => query.has(name))) return null;
  const limit = parameter(query, "limit") ?? String(DEFAULT_LIMIT);
  if (!/^[1-9]\d*$/.test(limit) || Number(limit) > HOSTS_PAGE_MAX) {
    return invalidQuery(`limit must be a whole number from 1 to ${HOSTS_PAGE_MAX}: ${limit}`);
  }
  const sortText = parameter(query, "sort") ?? "target";
  const sort = parseSort(sortText);
  if (sort === null) {
    return invalidQuery(`sort must be target, pps, mbps or flows_per_sec, with - in front for descending: ${sortText}`);
  }
  const afterText = parameter(query, "after");
  const after = afterText === null ? null : parsePlace(afterText, sort);
  if (afterText !== null && after === null) {
    return invalidQuery(`after must be what next was on the page before, in the same sort: ${afterText}`);
  }
  const searchText = parameter(query, "q");
  const search = searchText === null ? null : parseSearch(searchText);
  if (searchText !== null && search === null) {
    return invalidQuery(`q must be a part of an address, or a prefix as 192.0.2.0/24: ${searchText}`);
  }
  const group = parameter(query, "group");
  if (group === "") return invalidQuery("group must not be empty");
  const tenant = parameter(query, "tenant");
  if (tenant === "") return invalidQuery("tenant must not be empty");
  const stateText = parameter(query, "state");
  const state = HOST_STATES.find((known) => known === stateText) ?? null;
  if (stateText !== null && state === null) {
    return invalidQuery(`state must be one of ${HOST_STATES.join(", ")}: ${stateText}`);
  }
  return { kind: "page", limit: Number(limit), sort, after, search, group, tenant, state };
}

function parseSort(text: string): HostSort | null {
  const isDescending = text.startsWith("-");
  const by = isDescending ? text.slice(1) : text;
  if (by !== "target" && by !== "pps" && by !== "mbps" && by !== "flows_per_sec") return null;
  return { by, isDescending };
}

function parseSearch(text: string): string | Prefix | null {
  if (text.includes("/")) return parsePrefixLoosely(text);
  // A complete address is compared in its canonical spelling.
  return /^[\da-f.:]{1,39}$/i.test(text) ? (parseAddress(text) ?? text.toLowerCase()) : null;
}

function parsePlace(text: string, { by }: HostSort): Place | null {
  const match = (by === "target" ? /^()(.+)$/ : /^(\d{1,15}(?:\.\d{1,3})?),(.+)$/).exec(text);
  const target = parseAddress(match?.[2] ?? "");
  return target === null ? null : { rate: Number(match?.[1]), order: addressOrder(target) };
}

/** As parsePlace reads it. */
export function placeText({ by }: HostSort, rate: number, target: string): string {
  return by === "target" ? target : `${rate},${target}`;
}

/** Equal for equal pages of one tenant, whatever other parameters the queries have. */
export function pageKey(tenant: string | null, query: URLSearchParams): string {
  return `page ${JSON.stringify([tenant, ...PARAMETERS.map((name) => parameter(query, name))])}`;
}
