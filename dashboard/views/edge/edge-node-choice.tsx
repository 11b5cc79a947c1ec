/** The choice of an edge node. The names are read once, since the list of many nodes is large. */
import type { Static } from "@sinclair/typebox";
import type { EdgeInventoryWire } from "../../../src/http/wire/edge/node.ts";
import { useResource } from "../../api/resource.ts";
import { t } from "../../language.ts";
import { ChoiceField } from "../../parts/field.tsx";

interface EdgeNodeChoiceProps {
  /** Empty: all nodes. */
  readonly node: string;
  readonly onChange: (node: string) => void;
}

export function EdgeNodeChoice({ node, onChange }: EdgeNodeChoiceProps) {
  const inventory = useResource<Static<typeof EdgeInventoryWire>>("/api/v1/edge/nodes", 0);
  const { value } = inventory.state;
  const names = value.kind === "ready" ? value.data.nodes.map(({ name }) => name) : [];
  const all = node === "" || names.includes(node) ? names : [...names, node];
  return (
    <ChoiceField
      label={t`Node`}
      value={node}
      options={[["", t`All`], ...all.map((name) => [name, name] as const)]}
      onChange={onChange}
    />
  );
}
