/** OpenBGPD, read through bgpctl. It takes FlowSpec from no neighbor: what it holds is routes. */
import { sorted } from "./flow-words.ts";
import { ForeignRouter, type HeldRoute, SPEAKER_ASN } from "./foreign-router.ts";

interface Shown {
  readonly rib?: readonly {
    readonly prefix: string;
    readonly exit_nexthop: string;
    readonly communities?: readonly string[];
    readonly extended_communities?: readonly string[];
    readonly large_communities?: readonly string[];
  }[];
}

const WELL_KNOWN: Readonly<Record<string, string>> = {
  BLACKHOLE: "65535:666",
  NO_EXPORT: "65535:65281",
  NO_ADVERTISE: "65535:65282",
};

export class Openbgpd extends ForeignRouter {
  override async start(): Promise<void> {
    const { own, speaker, asn } = this.link;
    const lines = [
      `AS ${asn}`,
      `router-id ${own.v4}`,
      `socket "${this.processes.inside("control")}"`,
      `listen on ${own.v4}`,
      `neighbor ${speaker.v4} {`,
      `  remote-as ${SPEAKER_ASN}`,
      "  announce IPv4 unicast",
      "  announce IPv6 unicast",
      "}",
      "allow from any",
      "",
    ];
    this.processes.write("bgpd.conf", lines.join("\n"), 0o600);
    // Of its user's, for the privileges that it drops.
    await this.processes.ask(["mkdir", "-p", "/run/openbgpd"]);
    this.processes.start(["bgpd", "-d", "-f", this.processes.inside("bgpd.conf")]);
    const isUp = async () => (await this.#show("summary").catch(() => "")) !== "";
    await this.started(isUp);
  }

  override async routes(): Promise<readonly HeldRoute[]> {
    const { rib = [] } = JSON.parse(await this.#show("rib", "detail")) as Shown;
    return rib.map((route) => {
      const standard = (route.communities ?? []).map((each) => WELL_KNOWN[each] ?? each);
      const extended = (route.extended_communities ?? []).map((each) => each.replace(" ", ":"));
      const communities = sorted([...standard, ...extended, ...(route.large_communities ?? [])]);
      return { prefix: route.prefix, nextHop: route.exit_nexthop, communities };
    });
  }

  override flows(): Promise<null> {
    return Promise.resolve(null);
  }

  #show(...what: readonly string[]): Promise<string> {
    return this.processes.ask(["bgpctl", "-j", "-s", this.processes.inside("control"), "show", ...what]);
  }
}
