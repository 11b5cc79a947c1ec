/**
 * Rules between the keys of the configuration file, one function each. They run on the valid part of a file with
 * errors, so that all errors are reported at once: a rule whose values are missing reports nothing.
 */

import type { Finding, Pruned } from "../../schema/shape.ts";
import type { Config } from "../config.ts";
import type { ConfigFile } from "../sections/schema.ts";
import {
  agentsAreBoundWhereNodesAreScoped,
  agentsHaveNoTenant,
  hostgroupsOfNodesExist,
  nodeNamesAreUnique,
  nodesOfTokensExist,
  oidcNeedsAToken,
  oidcNeedsThePage,
  onlyAgentsHaveANode,
  publicUrlFitsTls,
  routableListenNeedsAToken,
  scopesHaveOpenid,
  tokenEnvGoesWithoutTokens,
  tokenNamesAreUnique,
} from "./api.ts";
import {
  communitiesAreUnique,
  communitiesAtFit,
  extendedCommunitiesFit,
  grpcGoesWithExternal,
  listenAddressesFit,
  listenGoesWithManaged,
  managedSpeakerHasNeighbors,
  neighborKeysAgree,
  neighborsAreUnique,
  policiesAreKnown,
  policiesFit,
  policiesGoWithManaged,
} from "./bgp.ts";
import {
  captureHasOneSource,
  cpusAreUnique,
  decapsulationGoesWithFile,
  externalMacsHaveAnEffect,
  inlineCountsEveryFrame,
  inlineUsesXdp,
  interfaceKeysHaveAnEffect,
  interfacesAreUnique,
  paceGoesWithFile,
  queuesAreUnique,
  tunnelsAreReceived,
  vxlanPortsAreItsOwn,
} from "./capture.ts";
import {
  brainNamesAreUnique,
  brainsAreTheOthers,
  clusterPortIsFree,
  etcdEndpointsAreSafe,
  etcdKeysAgree,
  hookGoesWithOneBrain,
} from "./cluster.ts";
import {
  dataplaneInterfacesAreUnique,
  mirrorsAreNotFiltered,
  scrubbingNeedsTheDataplane,
  slotsHoldTheBans,
  xdpModesAgree,
} from "./dataplane.ts";
import {
  filterRulesAreWhole,
  filterRulesHaveRoom,
  filterRulesNeedTheDataplane,
  setsOfRulesExist,
} from "./filter-rules.ts";
import { tunnelsFit } from "./forward.ts";
import { windowsAreWhole } from "./maintenance.ts";
import {
  actionsAreWhole,
  carpetsWiden,
  groupsRefineWhatIsThere,
  holdsAreBounded,
  laddersAct,
  laddersClimb,
  portsGoWithTheirProtocols,
  profilesExist,
  unheldFollowsScrub,
} from "./mitigation.ts";
import {
  groupNamesAreUnique,
  groupNetworksAreTakenOnce,
  groupNetworksLieInNetworks,
  ipv6NetworksLeaveIpv4Alone,
  networksDoNotOverlap,
  prefixesAreBounded,
} from "./network.ts";
import { orderTemplatesAreWhole } from "./order-templates.ts";
import {
  clickhouseHasItsSection,
  mailAccountIsWhole,
  routesHaveTargets,
  storageKeysHaveAnEffect,
  targetsHaveOneKind,
  templatesCanBeUsed,
  tenantsAreListedOnce,
  updateCheckHasAUrl,
} from "./output.ts";
import { prefixSetNamesAreUnique, prefixSetsHaveOneSource } from "./prefix-sets.ts";
import {
  divertHasANextHop,
  groupNextHopsGoWithoutNodes,
  hookIsWhole,
  leastLoadedNeedsCapacities,
} from "./scrubbing.ts";
import {
  exporterNamesAreUnique,
  exporterPrefixesAreUnique,
  exportersAreListenedTo,
  exportersAreNotAnyone,
  flowCpusAreUnique,
  flowPortsAreFree,
  interfaceRolesAreDistinct,
  sitesAreBounded,
} from "./telemetry.ts";
import { carpetThresholdsSaySomething, groupBaselinesHaveAFloor, outgoingThresholdsSaySomething } from "./threshold.ts";

type Rule = (file: Pruned<ConfigFile>) => Iterable<Finding>;

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
  decapsulationGoesWithFile,
  tunnelsAreReceived,
  vxlanPortsAreItsOwn,
  paceGoesWithFile,
  interfacesAreUnique,
  inlineUsesXdp,
  externalMacsHaveAnEffect,
  inlineCountsEveryFrame,
  interfaceKeysHaveAnEffect,
  queuesAreUnique,
  cpusAreUnique,
  flowPortsAreFree,
  flowCpusAreUnique,
  exporterNamesAreUnique,
  exporterPrefixesAreUnique,
  exportersAreNotAnyone,
  exportersAreListenedTo,
  interfaceRolesAreDistinct,
  sitesAreBounded,
  grpcGoesWithExternal,
  listenAddressesFit,
  listenGoesWithManaged,
  managedSpeakerHasNeighbors,
  neighborsAreUnique,
  neighborKeysAgree,
  communitiesAreUnique,
  communitiesAtFit,
  policiesAreKnown,
  policiesGoWithManaged,
  policiesFit,
  extendedCommunitiesFit,
  unheldFollowsScrub,
  laddersClimb,
  laddersAct,
  profilesExist,
  portsGoWithTheirProtocols,
  actionsAreWhole,
  divertHasANextHop,
  hookIsWhole,
  groupNextHopsGoWithoutNodes,
  leastLoadedNeedsCapacities,
  carpetsWiden,
  groupsRefineWhatIsThere,
  holdsAreBounded,
  dataplaneInterfacesAreUnique,
  setsOfRulesExist,
  filterRulesAreWhole,
  filterRulesHaveRoom,
  filterRulesNeedTheDataplane,
  orderTemplatesAreWhole,
  windowsAreWhole,
  prefixSetNamesAreUnique,
  prefixSetsHaveOneSource,
  tunnelsFit,
  scrubbingNeedsTheDataplane,
  xdpModesAgree,
  mirrorsAreNotFiltered,
  clickhouseHasItsSection,
  storageKeysHaveAnEffect,
  mailAccountIsWhole,
  routesHaveTargets,
  tenantsAreListedOnce,
  targetsHaveOneKind,
  templatesCanBeUsed,
  updateCheckHasAUrl,
  routableListenNeedsAToken,
  scopesHaveOpenid,
  tokenEnvGoesWithoutTokens,
  tokenNamesAreUnique,
  agentsHaveNoTenant,
  oidcNeedsAToken,
  oidcNeedsThePage,
  publicUrlFitsTls,
  onlyAgentsHaveANode,
  nodeNamesAreUnique,
  nodesOfTokensExist,
  hostgroupsOfNodesExist,
  agentsAreBoundWhereNodesAreScoped,
  brainNamesAreUnique,
  brainsAreTheOthers,
  clusterPortIsFree,
  etcdKeysAgree,
  etcdEndpointsAreSafe,
  hookGoesWithOneBrain,
];

export function* crossFieldFindings(file: Pruned<ConfigFile>): Generator<Finding> {
  for (const rule of RULES) yield* rule(file);
}

/** Findings in a file without other errors: they need what the sections say together. */
export function* builtFindings(config: Config): Generator<Finding> {
  yield* slotsHoldTheBans(config);
}

function* tickDividesWindow({ detection }: Pruned<ConfigFile>): Generator<Finding> {
  const { window_ms: windowMs, tick_ms: tickMs } = detection ?? {};
  if (windowMs === undefined || tickMs === undefined || windowMs % tickMs === 0) return;
  yield { path: ["detection", "tick_ms"], rule: `must divide window_ms: ${windowMs} is no multiple of ${tickMs}` };
}
