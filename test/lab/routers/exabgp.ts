/** ExaBGP: it keeps no table, so that a helper writes down each UPDATE as ExaBGP decoded it, and the table is made of these. */
import { type BitTest, bitTerm, matchText, numberTerms, rateText, sorted } from "./flow-words.ts";
import { ForeignRouter, type HeldFlow, type HeldRoute, SPEAKER_ASN } from "./foreign-router.ts";

/** Its end of the pipe does not block, so that cat would end at once. */
const WRITER = (file: string) => `#!/usr/bin/python3
import os, select
seen = open("${file}", "ab", 0)
while True:
  select.select([0], [], [])
  data = os.read(0, 65536)
  if not data: break
  seen.write(data)
`;

interface Message {
  readonly type: string;
  readonly neighbor?: {
    readonly state?: string;
    readonly message?: { readonly update?: Update };
  };
}

interface Update {
  readonly attribute?: {
    readonly community?: readonly (readonly number[])[];
    readonly "large-community"?: readonly (readonly number[])[];
    readonly "extended-community"?: readonly { readonly string: string }[];
  };
  readonly announce?: Readonly<Record<string, Readonly<Record<string, readonly Nlri[]>>>>;
  readonly withdraw?: Readonly<Record<string, readonly Nlri[]>>;
}

/** Of a route and of a rule. */
interface Nlri {
  readonly nlri?: string;
  readonly string?: string;
}

export class Exabgp extends ForeignRouter {
  override async start(): Promise<void> {
    const processes = this.processes;
    const { own, speaker, asn } = this.link;
    processes.write("seen", "");
    processes.write("writer", WRITER(processes.inside("seen")), 0o755);
    const lines = [
      `process writer { run ${processes.inside("writer")}; encoder json; }`,
      `neighbor ${speaker.v4} {`,
      `  router-id ${own.v4}; local-address ${own.v4}; local-as ${asn}; peer-as ${SPEAKER_ASN};`,
      "  family { ipv4 unicast; ipv6 unicast; ipv4 flow; ipv6 flow; }",
      "  api { processes [ writer ]; neighbor-changes; receive { parsed; update; } }",
      "}",
      "",
    ];
    processes.write("exabgp.conf", lines.join("\n"));
    const settings = ["exabgp.daemon.user=root", "exabgp.log.destination=stderr", "exabgp.api.cli=false"];
    processes.start(["env", ...settings, "exabgp.api.ack=false", "exabgp", processes.inside("exabgp.conf")]);
    const isUp = () => Promise.resolve(processes.read("log").includes("loaded new configuration"));
    await this.started(isUp);
  }

  override async routes(): Promise<readonly HeldRoute[]> {
    return [...this.#table().routes.values()];
  }

  override async flows(): Promise<readonly HeldFlow[]> {
    return [...this.#table().flows.values()];
  }

  #table(): { readonly routes: ReadonlyMap<string, HeldRoute>; readonly flows: ReadonlyMap<string, HeldFlow> } {
    const routes = new Map<string, HeldRoute>();
    const flows = new Map<string, HeldFlow>();
    const lines = this.processes.read("seen").split("\n").slice(0, -1);
    for (const { type, neighbor } of lines.map((line) => JSON.parse(line) as Message)) {
      if (type === "state" && neighbor?.state !== "up") {
        routes.clear();
        flows.clear();
      }
      const { attribute = {}, announce = {}, withdraw = {} } = neighbor?.message?.update ?? {};
      for (const each of Object.values(withdraw).flat()) {
        routes.delete(each.nlri ?? "");
        flows.delete(each.string ?? "");
      }
      for (const [nextHop, nlri] of Object.values(announce).flatMap((hops) => Object.entries(hops)))
        for (const { nlri: prefix, string } of nlri) {
          if (prefix !== undefined) routes.set(prefix, { prefix, nextHop, communities: communitiesOf(attribute) });
          else if (string !== undefined) flows.set(string, flowOf(string, attribute));
        }
    }
    return { routes, flows };
  }
}

function communitiesOf(attribute: NonNullable<Update["attribute"]>): readonly string[] {
  const numbers = [...(attribute.community ?? []), ...(attribute["large-community"] ?? [])];
  const extended = (attribute["extended-community"] ?? []).map(({ string }) => {
    // An AS number of 32 bits has an L behind it.
    return string.replace("origin:", "soo:").replace(/(\d)L:/, "$1:");
  });
  return sorted([...numbers.map((each) => each.join(":")), ...extended]);
}

const NUMBERS: Readonly<Record<string, string>> = {
  protocol: "proto",
  "next-header": "proto",
  port: "port",
  "destination-port": "dport",
  "source-port": "sport",
  "icmp-type": "icmp type",
  "icmp-code": "icmp code",
  "packet-length": "length",
};
const PROTOCOLS: Readonly<Record<string, string>> = { icmp: "1", igmp: "2", tcp: "6", udp: "17", gre: "47", esp: "50" };
const BITS: Readonly<Record<string, number>> = {
  ...{ fin: 1, syn: 2, rst: 4, push: 8, ack: 16, urgent: 32, ece: 64, cwr: 128 },
  ...{ "dont-fragment": 1, "is-fragment": 2, "first-fragment": 4, "last-fragment": 8 },
};

/** Of `flow destination-ipv4 203.0.113.7/32 protocol =udp source-port [ =53 >=1900&<=1910 ] tcp-flags [ syn&!ack ]`. */
function flowOf(text: string, attribute: NonNullable<Update["attribute"]>): HeldFlow {
  const components = new Map<string, string>();
  for (const [, name = "", list, single] of text
    .replace(/^flow /, "")
    .matchAll(/([a-z0-9-]+) (?:\[ (.*?) \]|(\S+))/g)) {
    const terms = (list ?? single ?? "").split(" ");
    if (/^(destination|source)-ipv[46]$/.test(name)) {
      const address = (terms[0] ?? "").replace(/^(.*\/\d+)\/0$/, "$1");
      components.set(name.startsWith("destination") ? "dst" : "src", address);
    } else if (name === "tcp-flags" || name === "fragment") {
      components.set(name === "fragment" ? name : "tcp flags", terms.map(bitsOf).join(","));
    } else components.set(NUMBERS[name] ?? name, numberTerms(terms.map(withNumber)));
  }
  const { "extended-community": extended = [], ...others } = attribute;
  const actions = extended.map(({ string }) => {
    const rate = /^rate-limit:(\d+)$/.exec(string)?.[1];
    return rate === undefined ? string : rateText(Number(rate));
  });
  return { match: matchText(components), attributes: sorted([...actions, ...communitiesOf(others)]) };
}

function withNumber(term: string): string {
  return term.replace(/[a-z]+/g, (name) => PROTOCOLS[name] ?? name);
}

/** Of `syn&!ack`, `=syn` and `!syn+ack`. */
function bitsOf(term: string): string {
  const tests = term.split("&").map((part): BitTest => {
    const [, operator = "", names = ""] = /^(!=|=|!|)(.+)$/.exec(part) ?? [];
    const mask = names.split("+").reduce((sum, name) => sum | bitOf(name), 0);
    return { kind: ({ "": "+", "=": "=", "!": "!", "!=": "/" } as const)[operator as "" | "=" | "!" | "!="], mask };
  });
  return bitTerm(tests);
}

function bitOf(name: string): number {
  const bit = name === "not-a-fragment" ? undefined : BITS[name];
  if (bit === undefined) throw new Error(`bit ${name}`);
  return bit;
}
