/** The faults of the lab: each part killed, frozen, cut off, slow or wrong about the time, alone and in pairs. */
import type { Brain, ClusterWorld, ScrubNode } from "./cluster-world.ts";
import type { SlowPath } from "./slow-path.ts";

/** Where routes are watched: at the router of both, and at those of one, for what this one alone sees. */
export type Watched = "router" | "first" | "second";

export interface Fault {
  readonly name: string;
  begin(world: ClusterWorld): unknown;
  end(world: ClusterWorld): unknown;
  /** Where orders are given meanwhile; default: the second brain. */
  readonly orderAt?: 0 | 1;
  /** Default: FAULT_MS. */
  readonly lastsMs?: number;
  /** How long a route may be missing, ms, since one box would miss it as long. Default: not at all. */
  readonly gapMaxMs?: Partial<Record<Watched, number>>;
  /** The diverted victim may go to another node. Default: it stays. */
  readonly mayMove?: boolean;
  /** Orders may be answered with `shared: false`. Default: true, but without a fault. */
  readonly mayNotShare?: boolean;
}

export const FAULT_MS = 8000;
/** Longer than a node, a lease and a brain are waited for. */
const LONG_MS = 20_000;
const HOUR_SECONDS = 3600;
/** A session comes up again within this time, and the speaker is started again. */
const SESSION_MS = 8000;
const FLAP_MS = 1000;

const brain = (world: ClusterWorld, i: 0 | 1) => world.brains[i] as Brain;
const node = (world: ClusterWorld) => world.nodes[0] as ScrubNode;
const nothing = () => {};
const heal = ({ network }: ClusterWorld) => network.heal();

const killed: Fault = {
  name: "brain1 killed",
  begin: (world) => world.kill(brain(world, 0)),
  end: (world) => world.revive(brain(world, 0)),
};

const linkCut: Fault = {
  name: "brains cut apart",
  begin: ({ network, brains: [one, two] }) => network.cutBetween((one as Brain).place, (two as Brain).place),
  end: heal,
};

const etcdFrozen: Fault = {
  name: "all of etcd frozen",
  begin({ etcd }) {
    for (const member of etcd) member.freeze();
  },
  end({ etcd }) {
    for (const member of etcd) member.thaw();
  },
};

const speakerKilled: Fault = {
  name: "speaker of brain1 killed",
  begin: (world) => world.killSpeaker(brain(world, 0)),
  end: nothing,
  gapMaxMs: { first: SESSION_MS },
};

const routerRestarted: Fault = {
  name: "router of both restarted",
  async begin(world) {
    await world.stopRouter(world.router);
    await world.startRouter(world.router);
  },
  end: nothing,
  gapMaxMs: { router: SESSION_MS },
};

const agentKilled: Fault = {
  name: "agent of a node killed",
  begin: (world) => node(world).agent.stop("SIGKILL"),
  end: (world) => world.startAgent(node(world)),
  lastsMs: LONG_MS,
  mayMove: true,
};

function cutOff(name: string, direction: "to" | "from" | "both", i: 0 | 1 = 0): Fault {
  return { name, begin: (world) => world.network.cut(brain(world, i).place, direction), end: heal, lastsMs: LONG_MS };
}

function slow(name: string, ms: number, isOneWay: boolean): Fault {
  let path: SlowPath | null = null;
  return {
    name,
    async begin(world) {
      path = await world.network.slow(brain(world, 0).place, ms, { isOneWay });
    },
    end: () => path?.close(),
    lastsMs: LONG_MS,
  };
}

function clockOff(name: string, seconds: number): Fault {
  return {
    name,
    begin: (world) => brain(world, 0).clock.set(seconds),
    end: (world) => brain(world, 0).clock.set(0),
  };
}

function flapping(name: string, i: 0 | 1): Fault {
  let isOver = false;
  let running: Promise<void> | null = null;
  return {
    name,
    begin(world) {
      const { place } = brain(world, i);
      isOver = false;
      running = (async () => {
        while (!isOver) {
          for (const state of ["down", "up"] as const) {
            world.network.setRouterLink(place, state);
            await Bun.sleep(FLAP_MS);
          }
        }
      })();
    },
    async end() {
      isOver = true;
      await running;
    },
  };
}

const SINGLE: readonly Fault[] = [
  { name: "none", begin: nothing, end: nothing, mayNotShare: false },
  killed,
  {
    name: "brain1 and its speaker killed",
    async begin(world) {
      await world.kill(brain(world, 0));
      world.killSpeaker(brain(world, 0));
    },
    end: (world) => world.revive(brain(world, 0)),
    gapMaxMs: { first: FAULT_MS + 2 * SESSION_MS },
  },
  {
    name: "brain1 frozen",
    begin: (world) => brain(world, 0).service.signal("SIGSTOP"),
    end: (world) => brain(world, 0).service.signal("SIGCONT"),
    lastsMs: LONG_MS,
  },
  cutOff("brain1 cut off", "both"),
  cutOff("brain1 receives nothing", "to"),
  cutOff("brain1 sends nothing", "from"),
  cutOff("brain2 cut off, orders there", "both", 1),
  { ...linkCut, lastsMs: LONG_MS },
  {
    ...linkCut,
    name: "nothing from brain1 to brain2",
    begin: ({ network, brains: [one, two] }) =>
      network.cutBetween((one as Brain).place, (two as Brain).place, { isOneWay: true }),
  },
  {
    ...linkCut,
    name: "nothing from brain2 to brain1",
    begin: ({ network, brains: [one, two] }) =>
      network.cutBetween((two as Brain).place, (one as Brain).place, { isOneWay: true }),
  },
  slow("brain1 200 ms away", 200, false),
  slow("brain1 received 1.5 s late", 1500, true),
  clockOff("brain1 an hour ahead", HOUR_SECONDS),
  clockOff("brain1 an hour behind", -HOUR_SECONDS),
  {
    name: "a member of etcd killed",
    begin: ({ etcd }) => etcd[2]?.kill(),
    end: ({ etcd }) => etcd[2]?.start(),
  },
  {
    name: "a member of etcd frozen",
    begin: ({ etcd }) => etcd[1]?.freeze(),
    end: ({ etcd }) => etcd[1]?.thaw(),
  },
  { ...etcdFrozen, lastsMs: LONG_MS },
  {
    name: "all data of etcd lost",
    async begin({ etcd }) {
      await Promise.all(etcd.map((member) => member.kill()));
      for (const member of etcd) member.wipe();
    },
    end: (world) => world.startEtcd(),
  },
  speakerKilled,
  routerRestarted,
  {
    name: "router of brain1 alone restarted",
    async begin(world) {
      await world.stopRouter(brain(world, 0).edge);
      await world.startRouter(brain(world, 0).edge);
    },
    end: nothing,
    gapMaxMs: { first: SESSION_MS },
  },
  flapping("link of brain1 to the router flaps", 0),
  agentKilled,
  {
    name: "a node cut off from brain1",
    begin: (world) => world.network.cutBetween(node(world).place, brain(world, 0).place),
    end: heal,
    lastsMs: LONG_MS,
  },
];

/** One of each kind, so that each two of them are tried together. */
const PARTS: readonly Fault[] = [
  killed,
  linkCut,
  etcdFrozen,
  {
    ...speakerKilled,
    name: "speaker of brain2 killed",
    begin: (world) => world.killSpeaker(brain(world, 1)),
    gapMaxMs: { second: SESSION_MS },
  },
  routerRestarted,
  { ...agentKilled, lastsMs: FAULT_MS },
];

function pairOf(one: Fault, other: Fault): Fault {
  const gaps = [one, other].flatMap(({ gapMaxMs = {} }) => Object.entries(gapMaxMs));
  return {
    name: `${one.name} + ${other.name}`,
    async begin(world) {
      await one.begin(world);
      await other.begin(world);
    },
    async end(world) {
      await one.end(world);
      await other.end(world);
    },
    gapMaxMs: Object.fromEntries(gaps),
    mayMove: one.mayMove === true || other.mayMove === true,
  };
}

const PAIRS = PARTS.flatMap((one, i) => PARTS.slice(i + 1).map((other) => pairOf(one, other)));

export const FAULTS: readonly Fault[] = [...SINGLE, ...PAIRS];
