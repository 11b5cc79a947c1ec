/**
 * Rules between the keys of the configuration file, one function each. They run on what is left of a file with faults,
 * so that all faults are reported at once: a rule that lacks a value says nothing.
 */
import {
  agentsAreBoundWhereNodesAreScoped,
  agentsHaveNoTenant,
  hostgroupsOfNodesExist,
  nodeNamesAreUnique,
  nodesOfTokensExist,
  onlyAgentsHaveANode,
  routableListenNeedsAToken,
  tokenEnvGoesWithoutTokens,
  tokenNamesAreUnique,
} from "./api-rules.ts";
import {
  communitiesAreUnique,
  grpcGoesWithExternal,
  listenGoesWithManaged,
  managedSpeakerHasNeighbors,
  neighborsAreUnique,
} from "./bgp-rules.ts";
import {
  captureHasOneSource,
  cpusAreUnique,
  inlineUsesXdp,
  interfaceKeysHaveAnEffect,
  interfacesAreUnique,
  paceGoesWithFile,
  queuesAreUnique,
} from "./capture-rules.ts";
import {
  dataplaneInterfacesAreUnique,
  mirrorsAreNotFiltered,
  slotsHoldTheBans,
  xdpModesAgree,
} from "./dataplane-rules.ts";
import {
  carpetsWiden,
  groupsRefineWhatIsThere,
  holdsAreBounded,
  laddersAct,
  laddersClimb,
  rateGoesWithRateLimit,
} from "./mitigation-rules.ts";
import {
  groupNamesAreUnique,
  groupNetworksAreTakenOnce,
  groupNetworksLieInNetworks,
  ipv6NetworksLeaveIpv4Alone,
  networksDoNotOverlap,
  prefixesAreBounded,
} from "./network-rules.ts";
import {
  clickhouseHasItsSection,
  mailAccountIsWhole,
  storageKeysHaveAnEffect,
  updateCheckHasAUrl,
} from "./output-rules.ts";
import type { ConfigFile } from "./schema.ts";
import { divertHasANextHop, groupNextHopsGoWithoutNodes, leastLoadedNeedsCapacities } from "./scrubbing-rules.ts";
import type { Finding, Pruned } from "./shape.ts";
import {
  carpetThresholdsSaySomething,
  groupBaselinesHaveAFloor,
  outgoingThresholdsSaySomething,
} from "./threshold-rules.ts";

export type Rule = (file: Pruned<ConfigFile>) => Iterable<Finding>;

const RULES: readonly Rule[] = [
  networksDoNotOverlap,
  ipv6NetworksLeaveIpv4Alone,
  prefixesAreBounded,
  groupNamesAreUnique,
  groupNetworksLieInNetworks,
  groupNetworksAreTakenOnce,
  outgoingThresholdsSaySomething,
  groupBaselinesHaveAFloor,
  carpetThresholdsSaySomething,
  tickDividesWindow,
  captureHasOneSource,
  paceGoesWithFile,
  interfacesAreUnique,
  inlineUsesXdp,
  interfaceKeysHaveAnEffect,
  queuesAreUnique,
  cpusAreUnique,
  grpcGoesWithExternal,
  listenGoesWithManaged,
  managedSpeakerHasNeighbors,
  neighborsAreUnique,
  communitiesAreUnique,
  laddersClimb,
  laddersAct,
  rateGoesWithRateLimit,
  divertHasANextHop,
  groupNextHopsGoWithoutNodes,
  leastLoadedNeedsCapacities,
  carpetsWiden,
  groupsRefineWhatIsThere,
  holdsAreBounded,
  dataplaneInterfacesAreUnique,
  slotsHoldTheBans,
  xdpModesAgree,
  mirrorsAreNotFiltered,
  clickhouseHasItsSection,
  storageKeysHaveAnEffect,
  mailAccountIsWhole,
  updateCheckHasAUrl,
  routableListenNeedsAToken,
  tokenEnvGoesWithoutTokens,
  tokenNamesAreUnique,
  agentsHaveNoTenant,
  onlyAgentsHaveANode,
  nodeNamesAreUnique,
  nodesOfTokensExist,
  hostgroupsOfNodesExist,
  agentsAreBoundWhereNodesAreScoped,
];

export function* crossFieldFindings(file: Pruned<ConfigFile>): Generator<Finding> {
  for (const rule of RULES) yield* rule(file);
}

function* tickDividesWindow({ detection }: Pruned<ConfigFile>): Generator<Finding> {
  const { window_ms: windowMs, tick_ms: tickMs } = detection ?? {};
  if (windowMs === undefined || tickMs === undefined || windowMs % tickMs === 0) return;
  yield { path: ["detection", "tick_ms"], rule: `must divide window_ms: ${windowMs} is no multiple of ${tickMs}` };
}
