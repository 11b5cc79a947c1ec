/**
 * Ends several bans and source blocks: asks once, with all of them listed, and shows what became of each. It can be
 * stopped in between; what was ended by then stays ended.
 */

import { useRef, useState } from "preact/hooks";
import type { BansWire, BanWire } from "../../../src/http/wire/ban.ts";
import type { SourceBlocksWire, SourceBlockWire } from "../../../src/http/wire/source-block.ts";
import { type Answer, command } from "../../api/client.ts";
import { type Look, settle } from "../../api/doubtful-order.ts";
import { activeAttacks, readBans, tookBan } from "../../api/live.ts";
import { lookAt } from "../../api/look.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Callout, type Tone } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { type GivenReason, givenReason, ReasonField } from "../../parts/reason-field.tsx";
import { failureText } from "../../text/failure.ts";
import { wholeNumber } from "../../text/format/numbers.ts";
import { liftEffect, numberToType } from "../../text/lift-effect.ts";
import { liftVerb, MEASURE_KINDS, type Measure, measureSubject } from "../../text/measures.ts";
import { inForce, isUnblocked } from "../../text/order-proof.ts";

/** Orders that are sent at once: each waits for the disk of the service. */
const AT_ONCE = 4;

const EFFECT = t`What is announced or dropped for them ends. The current attack on a victim does not ban it again; the next attack does.`;

interface Result {
  readonly tone: Tone;
  readonly text: string;
  /** It is being looked up. */
  readonly isOpen?: true;
}

type Phase = "asking" | "running" | "done";

interface Row {
  readonly measure: Measure;
  readonly result: Result | undefined;
}

interface LiftDialogProps {
  readonly measures: readonly Measure[];
  /** After some were ended, or refused. */
  readonly onClose: () => void;
  readonly onCancel: () => void;
}

export function LiftDialog({ measures, onClose, onCancel }: LiftDialogProps) {
  const [phase, setPhase] = useState<Phase>("asking");
  const [results, setResults] = useState<ReadonlyMap<string, Result>>(new Map());
  const [typed, setTyped] = useState("");
  const [reason, setReason] = useState("");
  const isStopped = useRef(false);
  const run = async () => {
    setPhase("running");
    const all = new Map<string, Result>();
    await liftAll(measures, {
      given: givenReason(reason),
      isStopped: () => isStopped.current,
      onResult: (key, result) => {
        all.set(key, result);
        setResults(new Map(all));
      },
    });
    setPhase("done");
  };
  const onLeave = () => {
    if (phase === "asking") onCancel();
    else if (phase === "done") onClose();
    else isStopped.current = true;
  };
  const active = activeAttacks();
  const lifted = measures.flatMap((measure) => (measure.kind === "ban" && !measure.ban.dry_run ? [measure.ban] : []));
  const hit = phase === "asking" ? liftEffect(lifted, active) : null;
  const toType = hit === null ? null : numberToType(lifted, active);
  const isTyped = toType === null || typed.trim().replaceAll(/[\s,]/g, "") === String(toType);
  const verb = `${liftVerb(measures)} ${wholeNumber(measures.length)}`;
  return (
    <Dialog title={phase === "asking" ? `${verb}?` : verb} onClose={onLeave}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (phase === "asking" && isTyped) void run();
        }}
      >
        {hit !== null && <Callout tone="warn" title={hit} />}
        {phase === "asking" && <p>{EFFECT}</p>}
        {toType !== null && (
          <TextField
            label={t`Confirmation`}
            value={typed}
            onInput={setTyped}
            hint={t`Type ${toType}, the number of those that are attacked now, to go on.`}
            fault={typed.trim() === "" || isTyped ? null : t`This is another number.`}
            isRequired
          />
        )}
        {phase === "asking" && <ReasonField value={reason} onInput={setReason} />}
        <Progress phase={phase} results={results} total={measures.length} />
        <div class="dialog-list">
          <DataTable
            label={verb}
            columns={COLUMNS}
            rows={measures.map((measure) => ({ measure, result: results.get(measure.key) }))}
            rowKey={({ measure }) => measure.key}
          />
        </div>
        <div class="dialog-buttons">
          <Button onClick={onLeave}>{phase === "asking" ? t`Cancel` : phase === "running" ? t`Stop` : t`Close`}</Button>
          {phase === "asking" && (
            <Button type="submit" look="danger">
              {verb}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { key: "what", title: t`What`, cell: ({ measure }) => measureSubject(measure) },
  { key: "kind", title: t`Kind`, cell: ({ measure }) => MEASURE_KINDS[measure.kind] },
  {
    key: "result",
    title: t`Result`,
    cell: ({ result }) => (result === undefined ? "–" : <Badge tone={result.tone}>{result.text}</Badge>),
  },
];

interface ProgressProps {
  readonly phase: Phase;
  readonly results: ReadonlyMap<string, Result>;
  readonly total: number;
}

function Progress({ phase, results, total }: ProgressProps) {
  const known = [...results.values()].filter(({ isOpen }) => isOpen !== true);
  const refused = known.filter(({ tone }) => tone !== "ok").length;
  const left = total - known.length;
  const parts = [
    t`${wholeNumber(known.length - refused)} of ${wholeNumber(total)} ended`,
    ...(refused === 0 ? [] : [t`${wholeNumber(refused)} not, see Result`]),
    ...(phase === "done" && left > 0 ? [t`${wholeNumber(left)} left as they are: it was stopped`] : []),
  ];
  return (
    <>
      {phase === "running" && <progress aria-label={t`Progress`} max={total} value={known.length} />}
      <p role="status">{phase === "asking" ? "" : `${parts.join(", ")}.`}</p>
    </>
  );
}

interface LiftSteps {
  readonly given: GivenReason;
  readonly isStopped: () => boolean;
  readonly onResult: (key: string, result: Result) => void;
}

async function liftAll(measures: readonly Measure[], { given, isStopped, onResult }: LiftSteps): Promise<void> {
  const waiting = measures[Symbol.iterator]();
  const work = async () => {
    for (const measure of waiting) {
      if (isStopped()) return;
      const onDoubt = () => onResult(measure.key, DOUBT);
      onResult(measure.key, await lift(measure, given, onDoubt));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

const DOUBT: Result = { tone: "warn", text: t`not known, looking …`, isOpen: true };
const SOURCES_PATH = "/api/v1/dataplane/sources";

/** @param onDoubt called when the order is not answered, before it is looked up */
async function lift(measure: Measure, given: GivenReason, onDoubt: () => void): Promise<Result> {
  if (measure.kind === "block") {
    const { source, victim } = measure.block;
    const answer = await command<SourceBlockWire>(`${SOURCES_PATH}/unblock`, { source, victim, ...given });
    const look = lookAt<SourceBlocksWire>(SOURCES_PATH, ({ sources }) => isUnblocked({ source, victim }, sources));
    return answer.kind === "unreachable" ? doubtful(look, onDoubt) : resultOf(answer);
  }
  if (measure.kind !== "ban") return { tone: "warn", text: t`ends with its ban` };
  const { ban } = measure;
  const answer = await command<BanWire>("/api/v1/unban", { prefix: ban.prefix, ...given });
  if (answer.kind === "answer") tookBan(answer.data);
  if (answer.kind !== "unreachable") return resultOf(answer);
  return doubtful(
    lookAt<BansWire>("/api/v1/bans", ({ bans }) => inForce(ban, bans) === undefined),
    onDoubt,
  );
}

async function doubtful(look: Look, onDoubt: () => void): Promise<Result> {
  onDoubt();
  const verdict = await settle(look);
  readBans();
  return verdict === "done" ? { tone: "ok", text: t`ended` } : { tone: "danger", text: t`not ended: no answer` };
}

function resultOf(answer: Answer<{ readonly saved?: false }>): Result {
  if (answer.kind !== "answer") return { tone: "danger", text: failureText(answer) };
  return answer.data.saved === false
    ? { tone: "warn", text: t`ended, not on disk yet` }
    : { tone: "ok", text: t`ended` };
}
