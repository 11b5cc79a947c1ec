/** The edge: the zones and, for callers without a tenant, the nodes and the events. */
import { isUnscoped } from "../../api/session.ts";
import { t } from "../../language.ts";
import { Empty } from "../../parts/callout.tsx";
import { linkTo } from "../../router.ts";
import type { ViewProps } from "../../view.ts";
import { EdgeEvents } from "./edge-events.tsx";
import { EdgeNodeView } from "./edge-node.tsx";
import { EdgeNodes } from "./edge-nodes.tsx";
import { EdgeZone } from "./edge-zone.tsx";
import { EdgeZones } from "./edge-zones.tsx";

const PARTS = [
  ["zones", t`Zones`],
  ["nodes", t`Nodes`],
  ["events", t`Events`],
] as const;

export function Edge({ steps }: ViewProps) {
  const [part = "zones", name] = steps;
  return (
    <>
      {isUnscoped() && (
        <nav class="tabs" aria-label={t`Edge`}>
          {PARTS.map(([step, title]) => (
            <a key={step} href={linkTo(["edge", step])} aria-current={step === part ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
      )}
      <Part part={part} name={name} />
    </>
  );
}

function Part({ part, name }: { readonly part: string; readonly name: string | undefined }) {
  if (part === "zones") return name === undefined ? <EdgeZones /> : <EdgeZone key={name} name={name} />;
  if (isUnscoped() && part === "nodes") {
    return name === undefined ? <EdgeNodes /> : <EdgeNodeView key={name} name={name} />;
  }
  if (isUnscoped() && part === "events") return <EdgeEvents />;
  return (
    <Empty title={t`Your token does not allow this part`}>
      <a href={linkTo(["edge"])}>{t`Go to the zones`}</a>
    </Empty>
  );
}
