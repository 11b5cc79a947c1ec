/** The section `cluster`: the brains that protect the networks together, and how they reach each other. */
import { type Static, Type } from "@sinclair/typebox";
import type { ClusterConfig, SocketAddress } from "../../cluster/cluster-config.ts";
import { closed, described, list, text } from "../../schema/schema-forms.ts";
import { parseListen } from "../../schema/text-forms.ts";

/** Each order waits for all of them, a second at most. */
const OTHER_BRAINS_MAX = 4;

const Brain = Type.Object(
  {
    name: described(text("nodeName"), "The name of the brain, as its own configuration and its certificate have it."),
    address: described(text("socketAddress"), "Where it listens: the address and port of its `cluster.listen`."),
  },
  closed,
);

export const ClusterSection = described(
  Type.Object(
    {
      name: described(
        text("nodeName"),
        "The name of this brain, unique in the cluster. Its certificate has it as a DNS name, or without any as the common name.",
      ),
      listen: described(
        text("socketAddress"),
        "The address and port of this machine that the other brains connect to. Only brains with a certificate of `authority` get through. Of two brains the one with the lower name connects to the other.",
      ),
      certificate: described(
        text("absolutePath"),
        "PEM with the certificate of this brain, by which it is both server and client. Read again within a minute of a change.",
      ),
      key: described(text("absolutePath"), "PEM with its private key, without a passphrase."),
      authority: described(
        text("absolutePath"),
        "PEM with the certificate of the authority that signed those of all brains: one of your own, which signs for nothing else.",
      ),
      brains: described(list(Brain, OTHER_BRAINS_MAX, { atLeastOne: true }), "The other brains, without this one."),
    },
    closed,
  ),
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
      },
    ],
  },
);

export function buildCluster(file: Static<typeof ClusterSection>): ClusterConfig {
  return {
    ...file,
    listen: socketAddress(file.listen),
    brains: file.brains.map(({ name, address }) => ({ name, address: socketAddress(address) })),
  };
}

function socketAddress(text: string): SocketAddress {
  const parsed = parseListen(text);
  if (parsed === null) throw new Error(`bug: ${text} was taken for valid`);
  return parsed;
}
