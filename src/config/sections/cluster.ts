/** The section `cluster`: the brains that protect the networks together, and how they reach each other. */
import { type Static, Type } from "@sinclair/typebox";
import type { ClusterConfig, SocketAddress } from "../../cluster/cluster-config.ts";
import type { EtcdConfig, EtcdLoginConfig } from "../../cluster/etcd-config.ts";
import { closedObject, described, list, text } from "../../schema/schema-forms.ts";
import { parseListen } from "../../schema/text-forms.ts";

/** Each order waits for all of them, a second at most. */
const OTHER_BRAINS_MAX = 4;

const Brain = closedObject({
  name: described(text("nodeName"), "The name of the brain, as its own configuration and its certificate have it."),
  address: described(text("socketAddress"), "Where it listens: the address and port of its `cluster.listen`."),
});

/** Members of an etcd; more than seven only slow it down (etcd's documentation, FAQ). */
const ETCD_ENDPOINTS_MAX = 9;

const Etcd = closedObject({
  endpoints: described(
    list(text("httpServer"), ETCD_ENDPOINTS_MAX, { atLeastOne: true }),
    "The client addresses of its members, all of them: when one does not answer, the next is used. `http` is taken on loopback only.",
  ),
  prefix: described(
    text("etcdPrefix", { default: "/floodwall/" }),
    "The prefix of all keys of this cluster. All brains of a cluster have the same one; clusters on one etcd have different ones.",
  ),
  authority: described(
    Type.Optional(text("absolutePath")),
    "PEM with the certificate of the authority that signed those of the members.",
    { ifAbsent: "the authorities of the system" },
  ),
  certificate: described(
    Type.Optional(text("absolutePath")),
    "PEM with a client certificate, for an etcd that demands one. It must not have a common name (CN), which etcd's gateway refuses. Only with `key`. All three files are read again within a minute of a change.",
  ),
  key: described(
    Type.Optional(text("absolutePath")),
    "PEM with the private key of `certificate`, without a passphrase.",
  ),
  user: described(
    Type.Optional(text("etcdUser")),
    "The etcd user, with a role that has `readwrite` on all keys under `prefix`. Required if etcd has authentication on.",
  ),
  password_env: described(Type.Optional(text("variableName")), "The environment variable with the password of `user`."),
  password_file: described(
    Type.Optional(text("absolutePath")),
    "A file whose first line is the password, in place of `password_env`. It is read at each sign-in.",
  ),
});

export const ClusterSection = described(
  closedObject({
    name: described(
      text("nodeName"),
      "The name of this brain, unique in the cluster. Its certificate has it as a DNS name, or without any as the common name.",
    ),
    listen: described(
      text("socketAddress"),
      "The address and port of this machine that the other brains connect to. Only brains with a certificate of `authority` can connect. Between two brains, the one whose name sorts first connects to the other.",
    ),
    certificate: described(
      text("absolutePath"),
      "PEM with the certificate of this brain, by which it is both server and client. It is read again within a minute of a change.",
    ),
    key: described(text("absolutePath"), "PEM with the private key of `certificate`, without a passphrase."),
    authority: described(
      text("absolutePath"),
      "PEM with the certificate of the authority that signed those of all brains: one of your own, which signs for nothing else.",
    ),
    etcd: described(
      Type.Optional(Etcd),
      "An etcd, 3.4 or later, that keeps orders, the lease of notifications, the slots of certificates and the masters of clearance keys for all brains. Three members on three machines outlive the loss of one.",
      { ifAbsent: "the brains have only each other" },
    ),
    brains: described(list(Brain, OTHER_BRAINS_MAX, { atLeastOne: true }), "The other brains of the cluster."),
  }),
  "A cluster: two or more Floodwalls that see the same traffic, each with its own sessions to the routers. Orders of operators reach all of them. [A pair](operations/pair.md) has the steps.",
  {
    examples: [
      {
        name: "brain1",
        listen: "192.0.2.11:8443",
        certificate: "/etc/floodwall/cluster/brain1.pem",
        key: "/etc/floodwall/cluster/brain1.key",
        authority: "/etc/floodwall/cluster/ca.pem",
        brains: [{ name: "brain2", address: "192.0.2.12:8443" }],
        etcd: {
          endpoints: ["https://192.0.2.11:2379", "https://192.0.2.12:2379", "https://192.0.2.13:2379"],
          prefix: "/floodwall/site-1/",
          authority: "/etc/floodwall/cluster/etcd-ca.pem",
          user: "floodwall",
          password_file: "/etc/floodwall/cluster/etcd-password",
        },
      },
    ],
  },
);

export function buildCluster(file: Static<typeof ClusterSection>): ClusterConfig {
  const { etcd, ...own } = file;
  return {
    ...own,
    listen: socketAddress(file.listen),
    etcd: etcd === undefined ? null : buildEtcd(etcd),
    brains: file.brains.map(({ name, address }) => ({ name, address: socketAddress(address) })),
  };
}

function buildEtcd(file: Static<typeof Etcd>): EtcdConfig {
  return {
    endpoints: file.endpoints.map((endpoint) => new URL(endpoint).origin),
    prefix: file.prefix,
    authorityPath: file.authority ?? null,
    certificatePath: file.certificate ?? null,
    keyPath: file.key ?? null,
    login: loginOf(file),
  };
}

/** A rule between the keys ensures that a user has one password. */
function loginOf({ user, password_env: variable, password_file: path }: Static<typeof Etcd>): EtcdLoginConfig | null {
  if (user === undefined) return null;
  if (variable !== undefined) return { user, password: { kind: "environment", variable } };
  if (path === undefined) throw new Error("bug: a user without a password was taken for valid");
  return { user, password: { kind: "file", path } };
}

function socketAddress(text: string): SocketAddress {
  const parsed = parseListen(text);
  if (parsed === null) throw new Error(`bug: ${text} was taken for valid`);
  return parsed;
}
