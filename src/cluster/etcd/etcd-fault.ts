/** The ways in which a call of etcd fails, in terms of what the caller can do. */

export const ETCD_FAULTS = [
  "unreachable",
  "no_majority",
  "sign_in",
  "certificate",
  "denied",
  "no_space",
  "compacted",
  "refused",
  "unusable",
  "closed",
] as const;
export type EtcdFaultKind = (typeof ETCD_FAULTS)[number];

/** The message names the operation, the endpoint and the cause; it never contains the password or a token. */
export class EtcdFault extends Error {
  override readonly name = "EtcdFault";

  constructor(
    readonly kind: EtcdFaultKind,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Faults that another member of the same etcd may not have. */
export function isOfMember(kind: EtcdFaultKind): boolean {
  return kind === "unreachable" || kind === "no_majority" || kind === "unusable";
}

/** The remedies for an operator. */
export const ETCD_REMEDIES: Readonly<Record<EtcdFaultKind, string>> = {
  unreachable:
    "check that the member runs, that cluster.etcd.endpoints names its client address, and that cluster.etcd.authority has signed its certificate",
  no_majority: "start the other members of etcd: it needs more than half of them",
  sign_in: "check cluster.etcd.user and its password, and that etcd has this user with a role",
  certificate:
    "make the certificate of cluster.etcd.certificate without a common name (CN): etcd would take the name for a user, and refuses it at its gateway",
  denied: "grant the user's role the permission readwrite on all keys under cluster.etcd.prefix",
  no_space: "compact and defragment etcd, then disarm its alarm (etcdctl alarm disarm), or raise its quota",
  compacted: "nothing: everything is read again",
  refused: "look into the log of etcd",
  unusable: "check that the endpoint is an etcd 3.4 or later with its JSON gateway on",
  closed: "nothing: the service is stopping",
};

/** Codes of gRPC that the gateway repeats in its answers. */
const CODES: Readonly<Record<number, EtcdFaultKind>> = {
  4: "no_majority",
  7: "denied",
  8: "no_space",
  11: "compacted",
  14: "no_majority",
  16: "sign_in",
};

/** The kind of an error answer; its texts are those of etcd's api/v3rpc/rpctypes/error.go. */
export function kindOfRefusal(code: number, text: string): EtcdFaultKind {
  if (text.includes("too many requests")) return "no_majority";
  if (text.includes("permission denied")) return "denied";
  if (
    /authentication failed|user name (is empty|not found)|revision of auth store is old|invalid auth token/.test(text)
  )
    return "sign_in";
  return CODES[code] ?? "refused";
}
