/** Drops of this machine itself: the kernel filter, its rules and their counters. */
import type { StatusWire } from "../../../src/http/wire/status.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout } from "../../parts/callout.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { modeWord } from "../../text/capture-words.ts";
import { byteCount, scaled, wholeNumber } from "../../text/format/numbers.ts";
import { counted } from "../../text/format/words.ts";
import { FILTER_STATES, PORT_STATES, VERDICTS, wordOf } from "../../text/interface-words.ts";

type Dataplane = NonNullable<StatusWire["dataplane"]>;

const TONES = { up: "ok", failed: "danger", dry_run: "warn", disabled: "info" } as const;

type Limit = keyof NonNullable<Dataplane["rules_left_out_by_limit"]>;

function roomRemedy(limit: Limit) {
  switch (limit) {
    case "max_dynamic_rules":
      return tx`Raise ${<code>dataplane.limits.max_dynamic_rules</code>} and restart Floodwall, or unblock sources.`;
    case "one_destination":
      return tx`The kernel takes 255 rules for one destination, or for any: fewer bans with ${<code>answers: asked</code>} or of attackers leave room.`;
    case "detailed_matches":
      return tx`The kernel takes 1,024 rules with detailed matches: use prefix sets and the like in fewer filter rules, and ${<code>blocked_sets</code>} for fewer prefixes.`;
    default:
      return limit satisfies never;
  }
}

type Verdict = readonly [string, { readonly packets: number; readonly bytes: number }];

function verdictFact([name, { packets, bytes }]: Verdict): readonly [string, string] {
  return [wordOf(VERDICTS, name), t`${scaled(packets)} packets, ${byteCount(bytes)}`];
}

export function DroppingPanel({ dataplane }: { readonly dataplane: Dataplane }) {
  const { state, error, interfaces, pairs, rules, max_dynamic_rules: most } = dataplane;
  const { rules_left_out: leftOut, rules_left_out_by_limit: byLimit, filter_rules_left_out: withoutRoom } = dataplane;
  const limits = Object.keys(byLimit ?? {}) as Limit[];
  const verdicts = Object.entries(dataplane.verdicts ?? {}) as Verdict[];
  const isDrop = ([name, { packets }]: Verdict) => name.startsWith("drop") && packets > 0;
  const [drops, others] = [verdicts.filter(isDrop), verdicts.filter((verdict) => !isDrop(verdict))];
  return (
    <Panel title={t`Dropped on this machine`}>
      {error !== undefined && (
        <Callout tone="danger" title={t`The kernel filter is not in force`}>
          {error}
        </Callout>
      )}
      {leftOut !== undefined && (
        <Callout tone="warn" title={t`No room for ${leftOut} rules of bans`}>
          {limits.map((limit) => (
            <p key={limit}>{roomRemedy(limit)}</p>
          ))}
        </Callout>
      )}
      {withoutRoom !== undefined && (
        <Callout
          tone="warn"
          title={t`No room for the filter rules of ${counted(withoutRoom, "destination")}`}
        >{tx`Use fewer or wider destinations in ${<code>filter_rules</code>}, or raise ${<code>dataplane.limits.max_dynamic_rules</code>} and restart Floodwall.`}</Callout>
      )}
      <Facts
        facts={[
          [t`Kernel filter`, <Badge tone={TONES[state]}>{FILTER_STATES[state]}</Badge>],
          ...interfaces.map(
            (port) =>
              [
                port.name,
                port.error ?? (port.mode === undefined ? PORT_STATES[port.state] : modeWord(port.mode)),
              ] as const,
          ),
          pairs === undefined
            ? null
            : [t`Source blocks and rules`, t`${wholeNumber(pairs + (rules ?? 0))} of ${wholeNumber(most ?? 0)}`],
          ...drops.map(verdictFact),
        ]}
      />
      {others.length > 0 && (
        <details>
          <summary>{t`All verdicts of the kernel filter`}</summary>
          <Facts facts={others.map(verdictFact)} />
        </details>
      )}
    </Panel>
  );
}
