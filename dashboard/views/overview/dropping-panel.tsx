/** Drops of this machine itself: the kernel filter, its rules and their counters. */
import type { StatusWire } from "../../../src/http/wire/status.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout } from "../../parts/callout.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { byteCount, scaled, wholeNumber } from "../../text/format/numbers.ts";
import { counted } from "../../text/format/words.ts";

type Dataplane = NonNullable<StatusWire["dataplane"]>;

const STATES = {
  up: { tone: "ok", text: "up" },
  failed: { tone: "danger", text: "failed" },
  dry_run: { tone: "warn", text: "dry run" },
  disabled: { tone: "info", text: "disabled" },
} as const;

export function DroppingPanel({ dataplane }: { readonly dataplane: Dataplane }) {
  const { state, error, interfaces, pairs, rules, max_dynamic_rules: most } = dataplane;
  const { rules_left_out: leftOut, filter_rules_left_out: withoutRoom } = dataplane;
  const { tone, text } = STATES[state];
  return (
    <Panel title="Dropped on this machine">
      {error !== undefined && (
        <Callout tone="danger" title="The kernel filter is not in force">
          {error}
        </Callout>
      )}
      {leftOut !== undefined && (
        <Callout tone="warn" title={`No room for ${leftOut} rules of bans`}>
          Raise <code>dataplane.limits.max_dynamic_rules</code>, or unblock sources.
        </Callout>
      )}
      {withoutRoom !== undefined && (
        <Callout tone="warn" title={`No room for the filter rules of ${counted(withoutRoom, "destination")}`}>
          Use fewer or wider destinations in <code>filter_rules</code>.
        </Callout>
      )}
      <Facts
        facts={[
          ["Kernel filter", <Badge tone={tone}>{text}</Badge>],
          ...interfaces.map((port) => [port.name, port.error ?? port.mode ?? port.state] as const),
          pairs === undefined
            ? null
            : ["Source blocks and rules", `${wholeNumber(pairs + (rules ?? 0))} of ${wholeNumber(most ?? 0)}`],
          ...Object.entries(dataplane.verdicts ?? {}).map(
            ([verdict, { packets, bytes }]) =>
              [verdict.replaceAll("_", " "), `${scaled(packets)} packets, ${byteCount(bytes)}`] as const,
          ),
        ]}
      />
    </Panel>
  );
}
