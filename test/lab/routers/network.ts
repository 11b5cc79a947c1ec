/** A box and routers of other projects, each in a network namespace of its own, with a link of both families to the box. */
import { Undo } from "../../fixtures/undo.ts";
import { type Suite, systemWith } from "../../machines/bare-system.ts";
import type { RootFolder } from "../../machines/root-folder.ts";
import { type Namespace, Namespaces } from "../namespaces.ts";
import { BirdRouter } from "./bird-router.ts";
import { Exabgp } from "./exabgp.ts";
import type { ForeignRouter, RouterLink } from "./foreign-router.ts";
import { Frr } from "./frr.ts";
import { Gobgp } from "./gobgp.ts";
import { Openbgpd } from "./openbgpd.ts";

const DAEMONS = ["frr", "openbgpd", "exabgp", "bird2", "gobgpd"];
const FIRST_ASN = 64601;
/** Discarded by each router, as the documents ask. */
export const DISCARD = { v4: "192.0.2.1", v6: "100::1" } as const;

type Make = new (name: string, root: string, link: RouterLink) => ForeignRouter;

/** Debian 12's, then Debian 13's. */
const ROUTERS: readonly { readonly name: string; readonly suite: Suite; readonly make: Make }[] = [
  { name: "frr-12", suite: "bookworm", make: Frr },
  { name: "openbgpd-12", suite: "bookworm", make: Openbgpd },
  { name: "exabgp-12", suite: "bookworm", make: Exabgp },
  { name: "bird-12", suite: "bookworm", make: BirdRouter },
  { name: "frr-13", suite: "trixie", make: Frr },
  { name: "openbgpd-13", suite: "trixie", make: Openbgpd },
  { name: "exabgp-13", suite: "trixie", make: Exabgp },
  { name: "bird-13", suite: "trixie", make: BirdRouter },
  { name: "gobgp-13", suite: "trixie", make: Gobgp },
];

export class RouterNetwork {
  readonly #undo = new Undo();

  private constructor(
    readonly box: Namespace,
    /** Its device wire0 is mirrored to mirror0 of the box. */
    readonly attacker: Namespace,
    readonly routers: readonly ForeignRouter[],
    undo: Undo,
  ) {
    this.#undo = undo;
  }

  /** Resolves when all run; none has a session yet. */
  static async create(): Promise<RouterNetwork> {
    const undo = new Undo();
    try {
      const systems: Record<string, RootFolder> = {};
      for (const suite of new Set(ROUTERS.map((each) => each.suite))) {
        const system = await systemWith(suite, "routers", DAEMONS);
        systems[suite] = system;
        undo.add(() => system.remove());
      }
      const namespaces = new Namespaces();
      undo.add(() => namespaces.close());
      const [box, attacker] = [namespaces.add("box"), namespaces.add("attacker")];
      namespaces.connect({ namespace: attacker, device: "wire0" }, { namespace: box, device: "mirror0" });
      const routers = ROUTERS.map(({ name, suite, make }, i) => {
        const router = new make(name, (systems[suite] as RootFolder).path, linkOf(namespaces, box, i));
        undo.add(() => router.kill());
        return router;
      });
      await Promise.all(routers.map((router) => router.start()));
      return new RouterNetwork(box, attacker, routers, undo);
    } catch (cause) {
      await undo.all();
      throw cause;
    }
  }

  router(name: string): ForeignRouter {
    const found = this.routers.find((router) => router.name === name);
    if (found === undefined) throw new Error(`no router ${name}`);
    return found;
  }

  onEnd(end: () => unknown): void {
    this.#undo.add(end);
  }

  close(): Promise<void> {
    return this.#undo.all();
  }
}

function linkOf(namespaces: Namespaces, box: Namespace, i: number): RouterLink {
  const namespace = namespaces.add(`router${i}`);
  const speaker = { v4: `10.61.${i}.1`, v6: `fd61:0:0:${i}::1` };
  const own = { v4: `10.61.${i}.2`, v6: `fd61:0:0:${i}::2` };
  const near = { namespace: box, device: `router${i}`, addresses: [`${speaker.v4}/30`, `${speaker.v6}/64`] };
  namespaces.connect(near, { namespace, device: "box0", addresses: [`${own.v4}/30`, `${own.v6}/64`] });
  namespace.run(["ip", "route", "add", "blackhole", `${DISCARD.v4}/32`]);
  namespace.run(["ip", "-6", "route", "add", "blackhole", `${DISCARD.v6}/128`]);
  return { namespace, own, speaker, asn: FIRST_ASN + i };
}
