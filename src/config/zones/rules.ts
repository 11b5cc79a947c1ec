/** Rules between the keys of the zones file, and with the configuration that names it. */
import { type ConfigPath, pathText } from "../../schema/problem.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import { canonicalOrigin } from "../../schema/zone-forms.ts";
import { repeated } from "../rules/repeated.ts";
import type { ZonesFile } from "./file.ts";

type File = Pruned<ZonesFile>;

/** @param hostgroups the existing ones; null: some could not be read, so they are not checked. */
export function* zonesFindings(file: File, hostgroups: ReadonlySet<string> | null): Generator<Finding> {
  yield* namesAreUnique(file);
  yield* hostgroupsExist(file, hostgroups);
  yield* originsAreUnique(file);
  yield* h3OptionsGoWithH3(file);
  yield* exemptPathsAreUnique(file);
}

function* namesAreUnique({ zones = [] }: File): Generator<Finding> {
  for (const [name, i, other] of repeated(zones.map((zone) => zone?.name?.toLowerCase()))) {
    yield { path: ["zones", i, "name"], rule: `${name} is the name of zones[${other}] already: remove one` };
  }
}

function* hostgroupsExist({ zones = [] }: File, hostgroups: ReadonlySet<string> | null): Generator<Finding> {
  for (const [i, zone] of zones.entries()) {
    const group = zone?.hostgroup;
    if (group === undefined || hostgroups === null || hostgroups.has(group)) continue;
    const rule = `${group} is the name of no hostgroup: add it to hostgroups of the configuration, or write global`;
    yield { path: ["zones", i, "hostgroup"], rule };
  }
}

function* originsAreUnique({ zones = [] }: File): Generator<Finding> {
  for (const [i, zone] of zones.entries()) {
    const origins = (zone?.origins ?? []).map((origin) => (origin === undefined ? null : canonicalOrigin(origin)));
    yield* inTheList(origins, ["zones", i, "origins"]);
  }
}

function* exemptPathsAreUnique({ zones = [] }: File): Generator<Finding> {
  for (const [i, zone] of zones.entries()) {
    const paths = zone?.policy?.challenge_options?.exempt_paths ?? [];
    yield* inTheList(paths, ["zones", i, "policy", "challenge_options", "exempt_paths"]);
  }
}

function* inTheList(texts: readonly (string | null | undefined)[], at: ConfigPath): Generator<Finding> {
  for (const [text, i, other] of repeated(texts)) {
    yield { path: [...at, i], rule: `${text} is ${pathText([...at, other])} already: remove one` };
  }
}

function* h3OptionsGoWithH3({ zones = [] }: File): Generator<Finding> {
  for (const [i, zone] of zones.entries()) {
    if (zone?.tls?.h3_options === undefined || zone.tls.h3 !== false) continue;
    yield { path: ["zones", i, "tls", "h3_options"], rule: "goes with h3: true: set that, or remove h3_options" };
  }
}
