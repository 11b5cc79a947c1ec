/**
 * Ends several bans and source blocks: asks once, with all of them listed, and shows what became of each. It can be
 * stopped in between; what was ended by then stays ended.
 */
import { useRef, useState } from "preact/hooks";
import type { BanWire } from "../../../src/http/wire/ban.ts";
import type { SourceBlockWire } from "../../../src/http/wire/source-block.ts";
import { type Answer, command } from "../../api/client.ts";
import { tookBan } from "../../api/live.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { failureText, type Tone } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { wholeNumber } from "../../text/format/numbers.ts";
import { liftVerb, MEASURE_KINDS, type Measure, measureSubject } from "../../text/measures.ts";

/** Orders that are sent at once: each waits for the disk of the service. */
const AT_ONCE = 4;

const EFFECT =
  "What is announced or dropped for them ends. The current attack on a victim does not ban it again; the next attack does.";

interface Result {
  readonly tone: Tone;
  readonly text: string;
}

type Phase = "asking" | "running" | "done";

interface Row {
  readonly measure: Measure;
  readonly result: Result | undefined;
}

export interface LiftDialogProps {
  readonly measures: readonly Measure[];
  /** After some were ended, or refused. */
  readonly onClose: () => void;
  readonly onCancel: () => void;
}

export function LiftDialog({ measures, onClose, onCancel }: LiftDialogProps) {
  const [phase, setPhase] = useState<Phase>("asking");
  const [results, setResults] = useState<ReadonlyMap<string, Result>>(new Map());
  const isStopped = useRef(false);
  const run = async () => {
    setPhase("running");
    const all = new Map<string, Result>();
    await liftAll(measures, {
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
  const verb = `${liftVerb(measures)} ${wholeNumber(measures.length)}`;
  return (
    <Dialog title={phase === "asking" ? `${verb}?` : verb} onClose={onLeave}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (phase === "asking") void run();
        }}
      >
        {phase === "asking" && <p>{EFFECT}</p>}
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
          <Button onClick={onLeave}>{phase === "asking" ? "Cancel" : phase === "running" ? "Stop" : "Close"}</Button>
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
  { key: "what", title: "What", cell: ({ measure }) => measureSubject(measure) },
  { key: "kind", title: "Kind", cell: ({ measure }) => MEASURE_KINDS[measure.kind], width: "medium" },
  {
    key: "result",
    title: "Result",
    cell: ({ result }) => (result === undefined ? "–" : <Badge tone={result.tone}>{result.text}</Badge>),
  },
];

interface ProgressProps {
  readonly phase: Phase;
  readonly results: ReadonlyMap<string, Result>;
  readonly total: number;
}

function Progress({ phase, results, total }: ProgressProps) {
  const refused = [...results.values()].filter(({ tone }) => tone !== "ok").length;
  const left = total - results.size;
  const parts = [
    `${wholeNumber(results.size - refused)} of ${wholeNumber(total)} ended`,
    ...(refused === 0 ? [] : [`${wholeNumber(refused)} not, see Result`]),
    ...(phase === "done" && left > 0 ? [`${wholeNumber(left)} left as they are: it was stopped`] : []),
  ];
  return (
    <>
      {phase === "running" && <progress aria-label="Progress" max={total} value={results.size} />}
      <p role="status">{phase === "asking" ? "" : `${parts.join(", ")}.`}</p>
    </>
  );
}

interface LiftSteps {
  readonly isStopped: () => boolean;
  readonly onResult: (key: string, result: Result) => void;
}

async function liftAll(measures: readonly Measure[], { isStopped, onResult }: LiftSteps): Promise<void> {
  const waiting = measures[Symbol.iterator]();
  const work = async () => {
    for (const measure of waiting) {
      if (isStopped()) return;
      onResult(measure.key, await lift(measure));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function lift(measure: Measure): Promise<Result> {
  if (measure.kind === "block") {
    const { source, victim } = measure.block;
    return resultOf(await command<SourceBlockWire>("/api/v1/dataplane/sources/unblock", { source, victim }));
  }
  if (measure.kind !== "ban") return { tone: "warn", text: "cannot be ended by itself" };
  const answer = await command<BanWire>("/api/v1/unban", { ip: measure.ban.target });
  if (answer.kind === "answer") tookBan(answer.data);
  return resultOf(answer);
}

function resultOf(answer: Answer<{ readonly saved?: false }>): Result {
  if (answer.kind !== "answer") return { tone: "danger", text: failureText(answer) };
  return answer.data.saved === false ? { tone: "warn", text: "ended, not on disk yet" } : { tone: "ok", text: "ended" };
}
