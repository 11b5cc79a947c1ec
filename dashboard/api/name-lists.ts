/** The lists of what can be searched for by its name, read once while the search is open. */
import type { Static } from "@sinclair/typebox";
import { useEffect, useState } from "preact/hooks";
import type { ConfiguredWire } from "../../src/http/wire/configured.ts";
import type { FleetStatusWire } from "../../src/http/wire/edge/status.ts";
import type { FilterRulesWire } from "../../src/http/wire/filter-rule.ts";
import type { PrefixSetsWire } from "../../src/http/wire/prefix-set.ts";
import type { ProtectionsWire } from "../../src/http/wire/protection.ts";
import type { ScrubInventoryWire } from "../../src/http/wire/scrub-node.ts";
import { t } from "../language.ts";
import { type Named, type NameLists, namedThings } from "../text/search-names.ts";
import { read } from "./client.ts";
import { attacks } from "./live.ts";
import { wholeStatus } from "./running.ts";
import { isUnscoped } from "./session.ts";

interface Answers {
  readonly hostgroups: ConfiguredWire;
  readonly zones: Static<typeof FleetStatusWire>;
  readonly profiles: ProtectionsWire;
  readonly "filter rules": Static<typeof FilterRulesWire>;
  readonly "prefix sets": Static<typeof PrefixSetsWire>;
  readonly nodes: Static<typeof ScrubInventoryWire>;
}

const PATHS = {
  hostgroups: "/api/v1/config",
  zones: "/api/v1/edge/zones/status",
  profiles: "/api/v1/protection",
} as const;
/** A token with a tenant must not ask for these. */
const WHOLE_PATHS = {
  "filter rules": "/api/v1/filter-rules",
  "prefix sets": "/api/v1/prefix-sets",
  nodes: "/api/v1/dataplane/nodes",
} as const;

const NAMES: Readonly<Record<keyof Answers, string>> = {
  hostgroups: t`hostgroups`,
  zones: t`zones`,
  profiles: t`profiles`,
  "filter rules": t`filter rules`,
  "prefix sets": t`prefix sets`,
  nodes: t`nodes`,
};

interface Found {
  readonly things: readonly Named[];
  /** Lists that could not be read. */
  readonly missing: readonly string[];
}

export function useNamed(): Found {
  const [answers, setAnswers] = useState<Partial<Answers>>({});
  const [missing, setMissing] = useState<readonly string[]>([]);
  useEffect(() => {
    let isOpen = true;
    for (const [what, path] of Object.entries({ ...PATHS, ...(isUnscoped() && WHOLE_PATHS) })) {
      void read(path).then((answer) => {
        if (!isOpen) return;
        if (answer.kind === "answer") setAnswers((before) => ({ ...before, [what]: answer.data }));
        else setMissing((before) => [...before, NAMES[what as keyof Answers]]);
      });
    }
    return () => {
      isOpen = false;
    };
  }, []);
  return { things: namedThings(listsOf(answers)), missing };
}

function listsOf(answers: Partial<Answers>): NameLists {
  const { value } = attacks;
  return {
    hostgroups: answers.hostgroups?.hostgroups ?? [],
    zones: answers.zones?.zones ?? [],
    profiles: answers.profiles?.profiles ?? [],
    rules: answers["filter rules"]?.rules ?? [],
    sets: answers["prefix sets"]?.prefix_sets ?? [],
    nodes: answers.nodes?.nodes ?? [],
    neighbors: wholeStatus()?.bgp?.neighbors ?? [],
    attacks: value.kind === "ready" ? [...value.data.active, ...value.data.recent] : [],
    isUnscoped: isUnscoped(),
  };
}
