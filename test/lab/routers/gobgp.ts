/** GoBGP of a Debian release as a router of others, read through its own tool as JSON. */
import { type BitTest, bitTerm, matchText, numberTerms, rateText, sorted } from "./flow-words.ts";
import { ForeignRouter, type HeldFlow, type HeldRoute, SPEAKER_ASN } from "./foreign-router.ts";

const FAMILIES = ["ipv4-unicast", "ipv6-unicast", "ipv4-flowspec", "ipv6-flowspec"];

interface Path {
  readonly nlri: { readonly prefix?: string; readonly value?: readonly Component[] };
  readonly attrs: readonly Attribute[];
}

/** Of RFC 8955: a prefix, or terms with their operator bytes. */
interface Component {
  readonly type: number;
  readonly value: { readonly prefix: string } | readonly Term[];
}

interface Term {
  readonly op: number;
  readonly value: number;
}

/** By the type codes of IANA. */
interface Attribute {
  readonly type: number;
  readonly nexthop?: string;
  readonly communities?: readonly number[];
  readonly value?: unknown;
}

const NAMES: Readonly<Record<number, string>> = {
  ...{ 1: "dst", 2: "src", 3: "proto", 4: "port", 5: "dport", 6: "sport", 7: "icmp type", 8: "icmp code" },
  ...{ 9: "tcp flags", 10: "length", 12: "fragment" },
};
const BIT_NAMES = ["tcp flags", "fragment"];
/** Origin, AS path, next hop, local preference and the reach of families, which say nothing of their own here. */
const PLAIN_ATTRIBUTES = [1, 2, 3, 4, 5, 14];
const [COMMUNITIES, EXTENDED] = [8, 16];

export class Gobgp extends ForeignRouter {
  override async start(): Promise<void> {
    const { own, speaker, asn } = this.link;
    const families = FAMILIES.map(
      (name) => `[[neighbors.afi-safis]]\n[neighbors.afi-safis.config]\nafi-safi-name = "${name}"`,
    );
    const lines = [
      `[global.config]\nas = ${asn}\nrouter-id = "${own.v4}"\nport = -1`,
      `[[neighbors]]\n[neighbors.config]\nneighbor-address = "${speaker.v4}"\npeer-as = ${SPEAKER_ASN}`,
      "[neighbors.timers.config]\nconnect-retry = 1\nidle-hold-time-after-reset = 1",
      `[neighbors.transport.config]\nlocal-address = "${own.v4}"`,
      ...families,
      "",
    ];
    this.processes.write("gobgpd.toml", lines.join("\n"));
    this.processes.start(["gobgpd", "-t", "toml", "-f", this.processes.inside("gobgpd.toml")]);
    const isUp = () =>
      this.#ask("ipv4").then(
        () => true,
        () => false,
      );
    await this.started(isUp);
  }

  override async routes(): Promise<readonly HeldRoute[]> {
    const paths = [...(await this.#ask("ipv4")), ...(await this.#ask("ipv6"))];
    return paths.map(({ nlri, attrs }) => ({
      ...{ prefix: nlri.prefix ?? "", nextHop: attrs.find(({ nexthop }) => nexthop !== undefined)?.nexthop ?? "" },
      communities: attributesOf(attrs),
    }));
  }

  override async flows(): Promise<readonly HeldFlow[]> {
    const paths = [...(await this.#ask("ipv4-flowspec")), ...(await this.#ask("ipv6-flowspec"))];
    return paths.map(({ nlri, attrs }) => ({
      match: matchText(new Map((nlri.value ?? []).map(componentOf))),
      attributes: attributesOf(attrs),
    }));
  }

  async #ask(family: string): Promise<readonly Path[]> {
    const answer = await this.processes.ask(["gobgp", "global", "rib", "-a", family, "-j"]);
    return Object.values(JSON.parse(answer) as Record<string, Path[]>).flat();
  }
}

function attributesOf(attrs: readonly Attribute[]): readonly string[] {
  return sorted(
    attrs.flatMap(({ type, communities = [], value }) => {
      if (PLAIN_ATTRIBUTES.includes(type)) return [];
      if (type === COMMUNITIES) return communities.map((each) => `${each >>> 16}:${each & 0xffff}`);
      if (type === EXTENDED) return (value as Extended[]).map(extendedText);
      throw new Error(`GoBGP has an attribute of type ${type}`);
    }),
  );
}

interface Extended {
  readonly type: number;
  readonly subtype: number;
  readonly rate?: number;
}

/** Traffic-rate (RFC 8955, 7.1). */
function extendedText(extended: Extended): string {
  const { type, subtype, rate } = extended;
  if (type === 128 && subtype === 6 && rate !== undefined) return rateText(rate);
  throw new Error(`GoBGP has the extended community ${JSON.stringify(extended)}`);
}

function componentOf({ type, value }: Component): readonly [string, string] {
  const name = NAMES[type];
  if (name === undefined) throw new Error(`GoBGP has a component of type ${type}`);
  if ("prefix" in value) return [name, value.prefix];
  const groups = groupsOf(value);
  return [name, BIT_NAMES.includes(name) ? groups.map(bitsOf).join(",") : numberTerms(groups.map(numbersOf))];
}

/** Terms that must hold together: the bit 0x40 joins one to that before it (RFC 8955, 4.2.1.1). */
function groupsOf(terms: readonly Term[]): readonly (readonly Term[])[] {
  const groups: Term[][] = [];
  for (const [i, term] of terms.entries()) {
    if (i > 0 && (term.op & 0x40) !== 0) groups.at(-1)?.push(term);
    else groups.push([term]);
  }
  return groups;
}

function numbersOf(terms: readonly Term[]): string {
  return terms
    .map(
      ({ op, value }) => `${(op & 4) === 0 ? "" : "<"}${(op & 2) === 0 ? "" : ">"}${(op & 1) === 0 ? "" : "="}${value}`,
    )
    .join("&");
}

/** The bits 0x02 and 0x01 are "not" and "match" (RFC 8955, 4.2.1.2). */
function bitsOf(terms: readonly Term[]): string {
  const kinds = ["+", "=", "!", "/"] as const;
  return bitTerm(terms.map(({ op, value }): BitTest => ({ kind: kinds[op & 3] ?? "+", mask: value })));
}
