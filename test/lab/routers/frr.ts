/** FRR's zebra and bgpd, read through vtysh. */
import { eventually } from "../../fixtures/service.ts";
import { type BitTest, bitTerm, matchText, numberTerms, rateText, sorted } from "./flow-words.ts";
import type { RouterLink } from "./foreign-router.ts";
import { ForeignRouter, type HeldFlow, type HeldRoute, SPEAKER_ASN } from "./foreign-router.ts";

const FAMILIES = ["ipv4 unicast", "ipv6 unicast", "ipv4 flowspec", "ipv6 flowspec"] as const;

interface ShownRoute {
  readonly paths?: readonly {
    readonly nexthops: readonly { readonly ip: string; readonly scope?: string }[];
    readonly community?: { readonly string: string };
    readonly extendedCommunity?: { readonly string: string };
    readonly largeCommunity?: { readonly string: string };
  }[];
}

/** As FRR writes them: the names of `show bgp`. */
const WELL_KNOWN: Readonly<Record<string, string>> = {
  blackhole: "65535:666",
  "no-export": "65535:65281",
  "no-advertise": "65535:65282",
};

export class Frr extends ForeignRouter {
  override async start(): Promise<void> {
    const processes = this.processes;
    processes.write("frr.conf", configOf(this.link));
    await processes.ask(["chown", "-R", "frr:frr", processes.inside("")]);
    const socket = processes.inside("zserv");
    const common = ["-f", processes.inside("frr.conf"), "--vty_socket", processes.inside(""), "-P", "0", "-z", socket];
    processes.start(["/usr/lib/frr/zebra", ...common, "-i", processes.inside("zebra.pid")]);
    const isUp = async () => (await this.#show("show version").catch(() => "")) !== "";
    await eventually(isUp, () => `${this.name}: zebra does not start`, 20_000);
    processes.start(["/usr/lib/frr/bgpd", ...common, "-i", processes.inside("bgpd.pid")]);
    const hasBgp = async () => (await this.#show("show bgp summary").catch(() => "")).includes("Neighbor");
    await eventually(hasBgp, () => `${this.name}: bgpd does not start`, 20_000);
  }

  override async routes(): Promise<readonly HeldRoute[]> {
    const routes: HeldRoute[] = [];
    for (const family of ["ipv4", "ipv6"]) {
      const table = JSON.parse(await this.#show(`show bgp ${family} unicast json`)) as { routes: object };
      for (const prefix of Object.keys(table.routes)) {
        const shown = JSON.parse(await this.#show(`show bgp ${family} unicast ${prefix} json`)) as ShownRoute;
        for (const path of shown.paths ?? []) routes.push({ prefix, ...attributesOf(path) });
      }
    }
    return routes;
  }

  override async flows(): Promise<readonly HeldFlow[]> {
    const shown = await Promise.all(["ipv4", "ipv6"].map((family) => this.#show(`show bgp ${family} flowspec detail`)));
    return shown.flatMap((text) => text.split("BGP flowspec entry:").slice(1).map(flowOf));
  }

  #show(command: string): Promise<string> {
    return this.processes.ask(["vtysh", "--vty_socket", this.processes.inside(""), "-c", command]);
  }
}

function configOf({ own, speaker, asn }: RouterLink): string {
  const families = FAMILIES.map((family) => {
    return ` address-family ${family}\n  neighbor ${speaker.v4} activate\n exit-address-family`;
  });
  return [
    "frr defaults traditional",
    `router bgp ${asn}`,
    ` bgp router-id ${own.v4}`,
    " no bgp ebgp-requires-policy",
    ` neighbor ${speaker.v4} remote-as ${SPEAKER_ASN}`,
    ` neighbor ${speaker.v4} timers connect 1`,
    ...families,
    "",
  ].join("\n");
}

function attributesOf(path: NonNullable<ShownRoute["paths"]>[number]): Omit<HeldRoute, "prefix"> {
  const standard = wordsOf(path.community?.string).map((word) => WELL_KNOWN[word] ?? word);
  const extended = wordsOf(path.extendedCommunity?.string).map((word) => word.toLowerCase());
  const large = wordsOf(path.largeCommunity?.string);
  const global = path.nexthops.find(({ scope }) => scope !== "link-local");
  return { nextHop: global?.ip ?? "", communities: sorted([...standard, ...extended, ...large]) };
}

function wordsOf(text = ""): string[] {
  return text.split(" ").filter((word) => word !== "");
}

const NUMBERS: Readonly<Record<string, string>> = {
  "IP Protocol": "proto",
  Port: "port",
  "Destination Port": "dport",
  "Source Port": "sport",
  "ICMP Type": "icmp type",
  "ICMP Code": "icmp code",
  "Packet Length": "length",
};

function flowOf(text: string): HeldFlow {
  const components = new Map<string, string>();
  const attributes: string[] = [];
  for (const line of text.split("\n").slice(1)) {
    const address = /^\t(Destination|Source) Address (\S+?)(?:\/off 0)?$/.exec(line);
    const bits = /^\t(TCP Flags|Packet Fragment) (.+)$/.exec(line);
    const numbers = /^\t([A-Za-z ]+?) ((?:=|>=|<=) .*)$/.exec(line);
    const action = /^\tFS:(.+)$/.exec(line);
    if (address !== null) components.set(address[1] === "Destination" ? "dst" : "src", address[2] as string);
    else if (bits !== null)
      components.set(bits[1] === "TCP Flags" ? "tcp flags" : "fragment", bitsOf(bits[2] as string));
    else if (numbers !== null) components.set(NUMBERS[numbers[1] as string] ?? line, numbersOf(numbers[2] as string));
    else if (action !== null) attributes.push(actionOf(action[1] as string));
  }
  return { match: matchText(components), attributes: sorted(attributes) };
}

/** Of `= 53 , >= 1900 , <= 1910`: it does not print that the last two belong together. */
function numbersOf(text: string): string {
  const terms: string[] = [];
  for (const part of text.split(" , ")) {
    const term = part.replaceAll(" ", "");
    const last = terms.at(-1);
    if (term.startsWith("<=") && last?.startsWith(">=") === true && !last.includes("&"))
      terms.push(`${terms.pop()}&${term}`);
    else terms.push(term);
  }
  return numberTerms(terms);
}

/** Of `∋ 2,&∋ ! 16` and `= 2`. */
function bitsOf(text: string): string {
  const terms: BitTest[][] = [];
  for (const part of text.split(",")) {
    const [, and, contains, not, mask] = /^(&?)(?:(∋)|=)? ?(!?) ?(\d+)$/.exec(part.trim()) ?? [];
    if (mask === undefined) throw new Error(`bits ${text}`);
    const isAny = contains === "∋";
    const kind = not === "!" ? (isAny ? "!" : "/") : isAny ? "+" : "=";
    const test: BitTest = { kind, mask: Number(mask) };
    if (and === "&") terms.at(-1)?.push(test);
    else terms.push([test]);
  }
  return terms.map(bitTerm).join(",");
}

function actionOf(text: string): string {
  const rate = /^rate ([\d.]+)$/.exec(text)?.[1];
  return rate === undefined ? text : rateText(Number(rate));
}
