/** Tries an etcd as the service would use it, member by member, and changes nothing there. For `floodwall check`. */
import { messageOf } from "../../system/error-message.ts";
import type { EtcdConfig } from "../etcd-config.ts";
import type { EtcdCalls } from "./etcd-calls.ts";
import { EtcdFault, type EtcdFaultKind } from "./etcd-fault.ts";

/** The oldest version that was tried. */
const OLDEST = [3, 4] as const;

export type MemberFindings = { readonly endpoint: string } & (
  | { readonly kind: "works"; readonly version: string }
  | { readonly kind: "old"; readonly version: string }
  | { readonly kind: "fails"; readonly fault: EtcdFaultKind; readonly message: string }
);

/** @param callsOf makes the calls for one member alone, so that each is signed in at by itself. */
export function lookAtMembers(
  callsOf: (endpoint: URL) => EtcdCalls,
  { endpoints, prefix }: EtcdConfig,
): Promise<MemberFindings[]> {
  return Promise.all(
    endpoints.map((endpoint) => {
      const url = new URL(endpoint);
      return lookAt(callsOf(url), url, prefix);
    }),
  );
}

async function lookAt(calls: EtcdCalls, url: URL, prefix: string): Promise<MemberFindings> {
  const endpoint = url.host;
  try {
    const version = await calls.version(url);
    if (isOld(version)) return { endpoint, kind: "old", version };
    await tryKeys(calls, url, prefix);
    return { endpoint, kind: "works", version };
  } catch (cause) {
    if (!(cause instanceof EtcdFault)) throw cause;
    return { endpoint, kind: "fails", fault: cause.kind, message: messageOf(cause.cause ?? cause) };
  }
}

/** Needs the rights to read and write under the prefix; its condition is never true, so that nothing is written. */
async function tryKeys(calls: EtcdCalls, endpoint: URL, prefix: string): Promise<void> {
  const key = `${prefix}check`;
  await calls.txn(
    {
      compare: [
        { key, target: "CREATE", revision: 0 },
        { key, target: "MOD", revision: 1 },
      ],
      success: [{ kind: "put", key, value: "" }],
      failure: [{ kind: "range", key }],
    },
    { endpoint },
  );
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}
