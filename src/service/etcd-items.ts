/** Items of `floodwall check --here` about the etcd of a cluster, as it can be used from this machine. */
import { EtcdCalls } from "../cluster/etcd/etcd-calls.ts";
import { ETCD_REMEDIES } from "../cluster/etcd/etcd-fault.ts";
import { lookAtMembers, type MemberFindings } from "../cluster/etcd/etcd-look.ts";
import { EtcdSecrets } from "../cluster/etcd/etcd-secrets.ts";
import { GatewayClient } from "../cluster/etcd/gateway-client.ts";
import type { EtcdConfig } from "../cluster/etcd-config.ts";
import { error, type Item, ok, warning } from "../machine/item.ts";
import type { Clock } from "../system/clock.ts";
import type { Environment } from "../system/environment.ts";
import type { Timers } from "../system/timers.ts";

/** Nothing waits for it: a member that is slow is not one that is away. */
const ATTEMPT_MS = 5000;

interface EtcdItemsOptions {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly timers: Timers;
}

export async function etcdItems(config: EtcdConfig, options: EtcdItemsOptions): Promise<Item[]> {
  const { environment, clock, timers } = options;
  const secrets = new EtcdSecrets(config, environment, clock);
  const clients: GatewayClient[] = [];
  const callsOf = (endpoint: URL) => {
    const observer = { called: () => {}, movedTo: () => {} };
    const client = new GatewayClient({ endpoints: [endpoint], secrets, timers, observer, attemptMs: ATTEMPT_MS });
    clients.push(client);
    return new EtcdCalls(client);
  };
  const members = await lookAtMembers(callsOf, config);
  for (const client of clients) client.close();
  const works = members.filter(({ kind }) => kind === "works").length;
  return [...members.map((member) => itemOf(member, works)), ...clusterItems(config)];
}

/** A member that is away is an error only where no other is left. */
function itemOf(member: MemberFindings, works: number): Item {
  const about = `etcd ${member.endpoint}`;
  switch (member.kind) {
    case "works":
      return ok(about, `version ${member.version}, and the keys of the cluster can be read and written`);
    case "old":
      return error(about, `version ${member.version} is too old`, "install etcd 3.4 or later");
    case "fails": {
      const isOfMember = member.fault === "unreachable" || member.fault === "no_majority";
      const make = isOfMember && works > 0 ? warning : error;
      return make(about, member.message, ETCD_REMEDIES[member.fault]);
    }
    default:
      return member satisfies never;
  }
}

function clusterItems({ endpoints, login, prefix }: EtcdConfig): Item[] {
  const items: Item[] = [];
  if (endpoints.length < 3) {
    const found = `${endpoints.length} member${endpoints.length === 1 ? "" : "s"}: when one is away, no order is shared by it`;
    items.push(warning("etcd", found, "run three members on three machines, and list all of them"));
  }
  if (login === null) {
    const remedy = `switch its authentication on, and set cluster.etcd.user to one with a role for ${prefix} alone`;
    items.push(warning("etcd", "no user is set: all who reach it may change every key", remedy));
  }
  return items;
}
