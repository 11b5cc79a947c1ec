/**
 * The lever: sets how a zone challenges visitors, for a limited time. Callers who may not set it see the current state.
 */
import type { Static } from "@sinclair/typebox";
import { useState } from "preact/hooks";
import type { LeverWire } from "../../../src/http/wire/edge/lever.ts";
import type { ZoneStatusWire } from "../../../src/http/wire/edge/status.ts";
import { LEVER_REASON_MAX } from "../../../src/limits.ts";
import { command } from "../../api/client.ts";
import { lookAt } from "../../api/look.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout } from "../../parts/callout.tsx";
import { CommandButton, DialogButton } from "../../parts/command-button.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { ChoiceField, Segments, TextField } from "../../parts/field.tsx";
import { Moment, Until } from "../../parts/moment.tsx";
import { showOutcome, type Undo } from "../../parts/outcome.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { LEVER_DURATIONS, type LeverMode, type LeverSeconds, leverEffect, leverResult } from "../../text/edge.ts";
import { CHALLENGE_REASONS, CHALLENGES, wordOf } from "../../text/interface-words.ts";
import { type FleetStatus, ZONES_PATH } from "./edge-zones.tsx";

type Lever = Static<typeof LeverWire>;

interface LeverPanelProps {
  readonly zone: ZoneStatusWire;
  readonly onChanged: () => void;
}

export function LeverPanel({ zone, onChanged }: LeverPanelProps) {
  const [result, setResult] = useState<readonly string[]>([]);
  const onDone = (lever: Lever) => {
    setResult(leverResult(lever));
    onChanged();
  };
  const { override, challenge, file_challenge: inFile, challenge_active: active = [] } = zone;
  return (
    <Panel
      title={t`Challenge`}
      actions={
        <div class="choices">
          {zone.mode === "decide" && (
            <DialogButton
              label={t`Challenge visitors of ${zone.zone}`}
              text={t`Challenge …`}
              dialog={(onClose) => <LeverDialog {...{ zone, onDone, onFound: onChanged, onClose }} />}
            />
          )}
          {override !== undefined && <ClearLever zone={zone} onDone={onDone} onFound={onChanged} />}
        </div>
      }
    >
      <Facts
        facts={[
          inFile === undefined ? null : [t`Configured`, CHALLENGES[inFile]],
          [t`Reported by nodes`, challenge === undefined ? t`not reported` : wordOf(CHALLENGES, challenge)],
          override === undefined
            ? [t`Challenge override`, t`not set`]
            : [t`Challenge override`, <Badge tone="warn">{CHALLENGES[override.mode]}</Badge>],
          override === undefined ? null : [t`Ends in`, <Until at={override.until} />],
          override === undefined || override.reason === "" ? null : [t`Reason`, override.reason],
          ...active.map((each) => [t`Challenges on ${each.node}`, <Active challenge={each} />] as const),
        ]}
      />
      {zone.mode === "none" && (
        <p class="muted">{tx`The zone's ${<code>policy.mode</code>} is ${<code>none</code>}: its requests are not decided, so its challenge cannot be overridden.`}</p>
      )}
      <div role="status">
        {result.length > 0 && (
          <Callout tone="ok" title={result[0] ?? ""}>
            {result.slice(1).map((sentence) => (
              <p key={sentence}>{sentence}</p>
            ))}
          </Callout>
        )}
      </div>
    </Panel>
  );
}

type ActiveChallenge = NonNullable<ZoneStatusWire["challenge_active"]>[number];

function Active({ challenge: { reason, until, dry_run: isDryRun } }: { readonly challenge: ActiveChallenge }) {
  return (
    <>
      {isDryRun ? t`only counted` : t`yes`}
      {reason !== undefined && `, ${wordOf(CHALLENGE_REASONS, reason)}`}
      {until !== undefined && <>{tx`, until ${<Moment at={until} />}`}</>}
    </>
  );
}

interface LeverButtonProps {
  readonly zone: ZoneStatusWire;
  readonly onDone: (lever: Lever) => void;
  readonly onFound: () => void;
}

const MODES = [
  ["manual", t`Everybody`],
  ["auto", t`When it is busy`],
] as const;

function LeverDialog({ zone, onDone, onFound, onClose }: LeverButtonProps & { readonly onClose: () => void }) {
  const [mode, setMode] = useState<LeverMode>("manual");
  const [seconds, setSeconds] = useState<LeverSeconds>("3600");
  const [reason, setReason] = useState("");
  const order = { mode, ttl_seconds: Number(seconds), reason: reason.trim() };
  return (
    <Confirm<Lever>
      title={t`Challenge visitors of ${zone.zone}?`}
      verb={t`Challenge visitors`}
      isDangerous
      act={() => command(leverPath(zone), order)}
      look={overrideLook(zone, ({ override }) => override?.mode === mode)}
      onFound={onFound}
      onDone={(lever) => {
        onDone(lever);
        // An override that replaced another has no inverse: that had another end.
        const undo = zone.override === undefined ? undoOf(zone, onFound) : null;
        showOutcome(t`The challenge of ${zone.zone} is set.`, undo);
      }}
      onClose={onClose}
    >
      <Segments label={t`Challenge`} value={mode} options={MODES} onChange={setMode} />
      <ChoiceField label={t`For`} value={seconds} options={LEVER_DURATIONS} onChange={setSeconds} />
      <TextField
        label={t`Reason`}
        value={reason}
        onInput={setReason}
        maxLength={LEVER_REASON_MAX}
        hint={t`The reason is recorded in the audit trail. Everyone who may see the zone sees it.`}
      />
      <p>{leverEffect(mode, zone)}</p>
      <p class="muted">{t`Afterwards its file applies again.`}</p>
    </Confirm>
  );
}

function undoOf(zone: ZoneStatusWire, onDone: () => void): Undo {
  return {
    label: t`Undo the challenge of ${zone.zone}`,
    act: () => command(leverPath(zone), { mode: "off", reason: "undo of the challenge" }),
    onDone,
  };
}

function ClearLever({ zone, onDone, onFound }: LeverButtonProps) {
  const { file_challenge: inFile } = zone;
  return (
    <CommandButton<Lever>
      label={t`Clear override of the challenge of ${zone.zone}`}
      text={t`Clear override …`}
      title={t`Clear the challenge override of ${zone.zone}?`}
      verb={t`Clear override`}
      asksReason
      act={({ reason = "" }) => command(leverPath(zone), { mode: "off", reason })}
      look={overrideLook(zone, ({ override }) => override === undefined)}
      onFound={onFound}
      onDone={onDone}
    >
      <p>
        {inFile === undefined
          ? t`The zone is not in the zones file any more: without the override it has no challenge.`
          : t`Its file says “${CHALLENGES[inFile]}”: this applies to visitors at once.`}
      </p>
    </CommandButton>
  );
}

function overrideLook({ zone }: ZoneStatusWire, isSo: (found: ZoneStatusWire) => boolean) {
  return lookAt<FleetStatus>(ZONES_PATH, ({ zones }) => {
    const found = zones.find((each) => each.zone === zone);
    return found !== undefined && isSo(found);
  });
}

function leverPath({ zone }: ZoneStatusWire): string {
  return `/api/v1/edge/zones/${encodeURIComponent(zone)}/challenge`;
}
