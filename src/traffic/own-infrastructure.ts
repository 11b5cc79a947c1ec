/**
 * The addresses that the service itself needs: banned or filtered, they would cut the service off its routers and nodes.
 * The configuration in force names them; they stand beside `protected_whitelist`.
 */
import type { IpAddress } from "../net/address.ts";
import { addressBits, type Prefix, prefixContains } from "../net/prefix.ts";
import { PrefixTable } from "../net/prefix-table.ts";
import { type ConfigPath, pathText } from "../schema/problem.ts";

export interface OwnAddress {
  /** One address, or all from which exporters and mirrors send to the service. */
  readonly prefix: Prefix;
  /** The first key that names it. */
  readonly path: ConfigPath;
}

/** Why an address, or a prefix that contains it, is not banned: names the address and its key. */
export type OwnRefusal = `own infrastructure: ${string}`;

export class OwnInfrastructure {
  readonly #own: readonly OwnAddress[];
  /** Row i is entry i of `#own`. */
  readonly #table: PrefixTable;

  constructor(own: readonly OwnAddress[]) {
    this.#own = own;
    this.#table = PrefixTable.of(own.map(({ prefix }) => prefix));
  }

  addresses(): readonly OwnAddress[] {
    return this.#own;
  }

  /** null: it may be banned. */
  refusalOf(target: IpAddress): OwnRefusal | null {
    const own = this.#own[this.#table.find(target)];
    return own === undefined ? null : refusal(own);
  }

  /** null: the prefix contains none of them, and lies in none. */
  refusalIn(prefix: Prefix): OwnRefusal | null {
    if (!this.#table.overlaps(prefix)) return null;
    const own = this.#own.find((one) => prefixContains(prefix, one.prefix.address));
    return own === undefined ? this.refusalOf(prefix.address) : refusal(own);
  }

  /** For the kernel, whose rules pass packets to them. */
  prefixes(): Prefix[] {
    return this.#own.map(({ prefix }) => prefix);
  }
}

/** As it is written: an address, or a prefix of several. */
export function ownText({ prefix }: OwnAddress): string {
  return prefix.length === addressBits(prefix.family) ? prefix.address : prefix.text;
}

export function isOwnRefusal(reason: string): reason is OwnRefusal {
  return reason.startsWith("own infrastructure: ");
}

function refusal(own: OwnAddress): OwnRefusal {
  return `own infrastructure: ${ownText(own)} is ${pathText(own.path)}; to ban it, change that key first`;
}
