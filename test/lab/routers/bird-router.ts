/** BIRD of a Debian release, read through birdc. */

import { parseFlows, parseRoutes } from "../../fixtures/bgp/bird-tables.ts";
import { type BitTest, bitTerm, matchText, rangeText, rateText, sorted } from "./flow-words.ts";
import { ForeignRouter, type HeldFlow, type HeldRoute, SPEAKER_ASN } from "./foreign-router.ts";

/** The names of `show route all` by their first octets. */
const EXTENDED: Readonly<Record<string, string>> = { rt: "rt", ro: "soo" };

const TRACE = "trace";

/** One UPDATE as it changed the table. */
export interface RouteChange {
  /** That the route or the rule is about. */
  readonly prefix: string;
  readonly route: string;
  readonly isHeld: boolean;
}

export class BirdRouter extends ForeignRouter {
  override async start(): Promise<void> {
    const { own, speaker, asn } = this.link;
    const taken = "import all; export none;";
    const lines = [
      "log stderr { error, fatal, bug };",
      `log "${this.processes.inside(TRACE)}" { trace };`,
      `router id ${own.v4};`,
      "protocol device {}",
      "flow4 table flows4;",
      "flow6 table flows6;",
      "protocol bgp speaker {",
      "  debug { routes };",
      `  local ${own.v4} as ${asn}; neighbor ${speaker.v4} as ${SPEAKER_ASN};`,
      "  connect delay time 1; connect retry time 1; error wait time 1, 2;",
      // The next hop of a blackhole is on no link.
      `  ipv4 { ${taken} gateway recursive; }; ipv6 { ${taken} gateway recursive; };`,
      `  flow4 { table flows4; ${taken} }; flow6 { table flows6; ${taken} };`,
      "}",
      "",
    ];
    this.processes.write("bird.conf", lines.join("\n"));
    const control = this.processes.inside("control");
    this.processes.start(["bird", "-f", "-c", this.processes.inside("bird.conf"), "-s", control]);
    const isUp = async () => (await this.#show("status").catch(() => [])).length > 0;
    await this.started(isUp);
  }

  override async routes(): Promise<readonly HeldRoute[]> {
    const lines = await this.#tables("master4", "master6");
    return parseRoutes(lines).map(({ prefix, nextHop, communities, extended = [], large = [] }) => ({
      ...{ prefix, nextHop },
      communities: sorted([...communities, ...extended.map(extendedText), ...large.map(numbersText)]),
    }));
  }

  override async flows(): Promise<readonly HeldFlow[]> {
    return parseFlows(await this.#tables("flows4", "flows6")).map((flow) => {
      const rate = flow.rateBytes === null ? [] : [rateText(flow.rateBytes)];
      const extended = (flow.extended ?? []).map(extendedText);
      const attributes = [...rate, ...flow.communities, ...extended, ...(flow.large ?? []).map(numbersText)];
      return { match: matchText(componentsOf(flow.match)), attributes: sorted(attributes) };
    });
  }

  /** Each UPDATE since it was started for the first time, in the order in which they came. */
  changes(): readonly RouteChange[] {
    return this.processes.read(TRACE).split("\n").flatMap(changeOf);
  }

  async #tables(...names: readonly string[]): Promise<readonly string[]> {
    const shown = await Promise.all(names.map((name) => this.#show(`route table ${name} all`)));
    return shown.flat();
  }

  async #show(subject: string): Promise<readonly string[]> {
    const command = ["birdc", "-s", this.processes.inside("control"), `show ${subject}`];
    return (await this.processes.ask(command)).split("\n");
  }
}

const CHANGE = /<TRACE> speaker\.(?:ipv|flow)[46] > (added|replaced|updated|removed) (?:\[\w+\] )?(.+)$/;

/** `speaker.ipv4 > added [best] 203.0.113.7/32 0L 2G unreachable`; of rules `flow4 { dst 203.0.113.7/32; proto 17; }`. */
function changeOf(line: string): RouteChange[] {
  const [, kind, rest = ""] = CHANGE.exec(line) ?? [];
  if (kind === undefined) return [];
  const [, match] = /^flow[46] \{ (.*?);? \}/.exec(rest) ?? [];
  const [, of] = /^dst ([^;]+)/.exec(match ?? "") ?? [];
  const [prefix = ""] = rest.split(" ");
  return [{ prefix: of ?? prefix, route: match ?? prefix, isHeld: kind !== "removed" }];
}

/** `(rt, 65000, 100)` and `(generic, 0x80090000, 0xa)`. */
function extendedText(text: string): string {
  const [kind = "", ...values] = text.slice(1, -1).split(", ");
  return [EXTENDED[kind] ?? kind, ...values].join(":");
}

function numbersText(text: string): string {
  return text.slice(1, -1).split(", ").join(":");
}

function componentsOf(match: string): ReadonlyMap<string, string> {
  const components = new Map<string, string>();
  for (const part of match.split("; ")) {
    const [, name = "", rest = ""] =
      /^(dst|src|proto|next header|port|dport|sport|icmp type|icmp code|tcp flags|length|fragment) (.+)$/.exec(part) ??
      [];
    if (name === "") throw new Error(`BIRD says ${part}`);
    const plain = name === "next header" ? "proto" : name;
    const isBits = plain === "tcp flags" || plain === "fragment";
    const isAddress = plain === "dst" || plain === "src";
    components.set(
      plain,
      isAddress
        ? rest
        : isBits
          ? rest
              .split(/ \|\| |,/)
              .map(bitsOf)
              .join(",")
          : numbersOf(rest),
    );
  }
  return components;
}

/** Of `53,123,1900..1910`, `<= 99` and `>= 100 && <= 400`. */
function numbersOf(text: string): string {
  return text
    .split(/ \|\| |,/)
    .map((term) => {
      const bounds = term.split(" && ").map((part) => /^(<=|>=)? ?(\d+)$/.exec(part));
      if (bounds.every((bound) => bound?.[1] !== undefined)) {
        const of = (sign: string) => bounds.find((bound) => bound?.[1] === sign)?.[2];
        const [least, most] = [of(">="), of("<=")];
        return rangeText(least === undefined ? null : Number(least), most === undefined ? null : Number(most));
      }
      if (!/^\d+(\.\.\d+)?$/.test(term)) throw new Error(`BIRD says ${term}`);
      return term;
    })
    .join(",");
}

const FRAGMENTS: Readonly<Record<string, number>> = {
  ...{ dont_fragment: 1, is_fragment: 2, first_fragment: 4, last_fragment: 8 },
};

/** Of `!0x0/0x2 && 0x0/0x10`, `0x2/0x2` and `!!is_fragment && !first_fragment`. */
function bitsOf(term: string): string {
  const tests = term.split(" && ").map((part): BitTest => {
    const [, nots = "", name] = /^(!*)([a-z_]+)$/.exec(part) ?? [];
    if (name !== undefined) return { kind: nots.length % 2 === 0 ? "+" : "!", mask: FRAGMENTS[name] ?? NaN };
    const [, not = "", wanted, bits] = /^(!?)0x([0-9a-f]+)\/0x([0-9a-f]+)$/.exec(part) ?? [];
    if (bits === undefined || wanted === undefined) throw new Error(`BIRD says ${part}`);
    const mask = Number.parseInt(bits, 16);
    const isNone = Number.parseInt(wanted, 16) === 0;
    return { kind: isNone ? (not === "!" ? "+" : "!") : not === "!" ? "/" : "=", mask };
  });
  return bitTerm(tests);
}
