/** The terms of neighbors and their policies that the speaker must have before a route with marks is announced to it. */
import type { IpAddress } from "../net/address.ts";
import type { Community } from "../net/community.ts";
import type { Mark } from "./neighbor-mark.ts";

/** How routes with the mark differ at the neighbors of one policy. */
export interface RouteVariant {
  readonly mark: Mark;
  readonly policy: string;
  /** null: those of the route. Extended ones only for routes that are no rules. */
  readonly communities: readonly Community[] | null;
  /** null: that of the route. */
  readonly nextHop: IpAddress | null;
  /** null: none. */
  readonly med: number | null;
  /** null: none. */
  readonly prepend: { readonly asn: number; readonly times: number } | null;
}

export interface ExportTerms {
  /** Addresses of all neighbors. */
  readonly neighbors: readonly string[];
  /** By name: the addresses of its neighbors. */
  readonly policies: ReadonlyMap<string, readonly string[]>;
  readonly variants: readonly RouteVariant[];
}
