/** The nodes that poll the service: which there are, and which hostgroups they serve (interface, 4.5 and 4.6). */
import { type Static, Type } from "@sinclair/typebox";
import { HOSTGROUPS_MAX, NODES_MAX } from "../limits.ts";
import { DIVERT_KEYS } from "./mitigation-section.ts";
import { closed, list, text } from "./schema-forms.ts";

const ScrubNode = Type.Object({ name: text("nodeName") }, closed);

const EdgeNode = Type.Object(
  {
    name: text("nodeName"),
    /** Absent: `[global]`. */
    hostgroups: Type.Optional(list(text("groupName"), HOSTGROUPS_MAX, { atLeastOne: true })),
  },
  closed,
);

export const ScrubbingSection = Type.Object({ ...DIVERT_KEYS, nodes: list(ScrubNode, NODES_MAX) }, closed);
export const EdgeSection = Type.Object({ nodes: list(EdgeNode, NODES_MAX) }, closed);

export interface ScrubbingConfig {
  readonly nodes: readonly { readonly name: string }[];
}

export interface EdgeConfig {
  readonly nodes: readonly EdgeNodeConfig[];
}

export interface EdgeNodeConfig {
  readonly name: string;
  /** null: no placement scope of its own, `[global]` holds. */
  readonly hostgroups: readonly string[] | null;
}

export function buildScrubbing({ nodes }: Static<typeof ScrubbingSection>): ScrubbingConfig {
  return { nodes: nodes.map(({ name }) => ({ name })) };
}

export function buildEdge(file: Static<typeof EdgeSection>): EdgeConfig {
  return { nodes: file.nodes.map(({ name, hostgroups }) => ({ name, hostgroups: hostgroups ?? null })) };
}
