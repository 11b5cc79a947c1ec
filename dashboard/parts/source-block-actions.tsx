/**
 * The buttons to block and unblock a source, each with a confirmation dialog. Hidden from callers who may not use them.
 */
import { useRef, useState } from "preact/hooks";
import type { SourceBlocksWire, SourceBlockWire } from "../../src/http/wire/source-block.ts";
import { SOURCE_BLOCK_REASON_MAX, SOURCE_BLOCK_SECONDS_MAX } from "../../src/limits.ts";
import { command, read } from "../api/client.ts";
import { serviceNow } from "../api/contact.ts";
import { ifStill } from "../api/if-still.ts";
import { lookAt } from "../api/look.ts";
import { t } from "../language.ts";
import { type FieldFault, fieldFault } from "../text/failure.ts";
import { duration, momentText } from "../text/format/times.ts";
import { isBlocked, isUnblocked } from "../text/order-proof.ts";
import { CommandButton, DialogButton } from "./command-button.tsx";
import { Confirm } from "./dialog.tsx";
import { ChoiceField, TextField } from "./field.tsx";
import { BlockEffect } from "./order-effect.tsx";
import { showOutcome, type Undo } from "./outcome.tsx";

interface BlockButtonProps {
  /** Absent: the dialog asks for it, like for the victim. */
  readonly source?: string;
  readonly victim?: string;
  readonly onChanged: () => void;
}

export function BlockButton({ source = "", victim = "", onChanged }: BlockButtonProps) {
  const isKnown = source !== "";
  return (
    <DialogButton
      label={isKnown ? t`Block ${source}` : t`Block a source`}
      text={isKnown ? t`Block …` : t`Block a source …`}
      dialog={(onClose) => <BlockDialog {...{ source, victim, onChanged, onClose }} />}
    />
  );
}

const SOURCES_PATH = "/api/v1/dataplane/sources";

/** Keys of an order at whose field a refusal is shown; `ip` is one of the addresses. */
const FIELDS = ["source", "victim", "ttl_seconds", "reason", "ip"];

/** In seconds; with the last one, the dialog asks for the time. */
const TIMES = [
  ["600", t`10 min`],
  ["3600", t`${1} h`],
  ["21600", t`${6} h`],
  ["86400", t`${24} h`],
  ["other", t`Another time`],
] as const;
type Time = (typeof TIMES)[number][0];

interface BlockDialogProps extends Required<BlockButtonProps> {
  readonly onClose: () => void;
}

function BlockDialog({ onChanged, onClose, ...first }: BlockDialogProps) {
  const [source, setSource] = useState(first.source);
  const [victim, setVictim] = useState(first.victim);
  const [time, setTime] = useState<Time>("3600");
  const [other, setOther] = useState("");
  const [reason, setReason] = useState("");
  const [fault, setFault] = useState<FieldFault | null>(null);
  const endsMs = useRef(0);
  /** null: not known. */
  const wasBlocked = useRef<boolean | null>(null);
  const seconds = Number(time === "other" ? other : time);
  const order = { source: source.trim(), victim: victim.trim(), ttl_seconds: seconds, reason };
  const faultOf = (field: string, value = "") => {
    const isIt =
      fault?.field === field || (fault?.field === "ip" && value !== "" && fault.rule.startsWith(`${value} `));
    return isIt ? (fault?.rule ?? null) : null;
  };
  return (
    <Confirm<SourceBlockWire>
      title={t`Block a source`}
      verb={t`Block`}
      isDangerous
      act={async () => {
        wasBlocked.current = await isBlockedNow(order);
        endsMs.current = serviceNow() + 1000 * seconds;
        return command(SOURCES_PATH, order);
      }}
      look={lookAt<SourceBlocksWire>(SOURCES_PATH, ({ sources }) => isBlocked(order, endsMs.current, sources))}
      onFound={onChanged}
      onRefused={(failure) => {
        const found = fieldFault(failure);
        setFault(found);
        return found !== null && FIELDS.includes(found.field);
      }}
      onDone={(block) => {
        onChanged();
        // One that replaced another has no inverse: that had another end.
        showOutcome(blockedText(block), wasBlocked.current === false ? undoOfBlock(block, onChanged) : null);
      }}
      onClose={onClose}
    >
      <TextField
        label={t`Source`}
        value={source}
        onInput={setSource}
        placeholder="198.51.100.9"
        fault={faultOf("source", order.source)}
        isRequired
      />
      <TextField
        label={t`Victim`}
        value={victim}
        onInput={setVictim}
        placeholder="203.0.113.7"
        hint={t`One of your own addresses. Packets to other addresses are not dropped.`}
        fault={faultOf("victim", order.victim)}
        isRequired
      />
      <div class="filters">
        <ChoiceField label={t`For`} value={time} options={TIMES} onChange={setTime} />
        {time === "other" && (
          <TextField
            label={t`Seconds`}
            type="number"
            value={other}
            onInput={setOther}
            placeholder={t`1 to ${SOURCE_BLOCK_SECONDS_MAX}`}
            fault={faultOf("ttl_seconds")}
            isRequired
          />
        )}
      </div>
      <TextField
        label={t`Reason`}
        value={reason}
        onInput={setReason}
        maxLength={SOURCE_BLOCK_REASON_MAX}
        fault={faultOf("reason")}
      />
      <BlockEffect order={order} />
      <p>
        {source.trim() === "" || victim.trim() === ""
          ? t`Packets from the source to the victim are dropped here.`
          : t`Packets from ${source.trim()} to ${victim.trim()} are dropped here.`}
        {seconds > 0 && t` The block expires after ${duration(seconds)}.`}
      </p>
    </Confirm>
  );
}

/** null: not known. */
async function isBlockedNow(order: Parameters<typeof isUnblocked>[0]): Promise<boolean | null> {
  const answer = await read<SourceBlocksWire>(SOURCES_PATH);
  return answer.kind === "answer" ? !isUnblocked(order, answer.data.sources) : null;
}

interface UnblockButtonProps {
  readonly block: SourceBlockWire;
  readonly onChanged: () => void;
}

export function UnblockButton({ block, onChanged }: UnblockButtonProps) {
  const { source, victim } = block;
  return (
    <CommandButton<SourceBlockWire>
      label={t`Unblock ${source} to ${victim}`}
      text={t`Unblock …`}
      title={t`Unblock ${source}?`}
      verb={t`Unblock`}
      isDangerous
      asksReason
      act={(given) => command(`${SOURCES_PATH}/unblock`, { source, victim, ...given })}
      look={lookAt<SourceBlocksWire>(SOURCES_PATH, ({ sources }) => isUnblocked({ source, victim }, sources))}
      onFound={onChanged}
      onDone={() => {
        onChanged();
        showOutcome(t`${source} is no longer blocked for ${victim}.`, undoOfUnblock(block, onChanged));
      }}
    >
      <p>{t`Its packets reach ${victim} again.`}</p>
    </CommandButton>
  );
}

function undoOfBlock({ source, victim, created_at: at }: SourceBlockWire, onDone: () => void): Undo {
  return {
    label: t`Undo the block of ${source}`,
    act: () =>
      ifStill<SourceBlocksWire, unknown>(
        SOURCES_PATH,
        ({ sources }) =>
          sources.some((each) => each.source === source && each.victim === victim && each.created_at === at),
        () => command(`${SOURCES_PATH}/unblock`, { source, victim, reason: "undo of the block" }),
      ),
    onDone,
  };
}

/** For the rest of its time. */
function undoOfUnblock({ source, victim, expires_at: at, reason }: SourceBlockWire, onDone: () => void): Undo {
  return {
    label: t`Undo the end of the block of ${source}`,
    act: () => {
      const seconds = Math.max(1, Math.round((Date.parse(at) - serviceNow()) / 1000));
      const why = Array.from(`undo of the unblock${reason === "" ? "" : `: ${reason}`}`);
      return command(SOURCES_PATH, {
        ...{ source, victim, ttl_seconds: Math.min(seconds, SOURCE_BLOCK_SECONDS_MAX) },
        reason: why.slice(0, SOURCE_BLOCK_REASON_MAX).join(""),
      });
    },
    onDone,
  };
}

function blockedText({ source, victim, expires_at: at, dry_run: isDry }: SourceBlockWire): string {
  const until = momentText(Date.parse(at), Date.now());
  return t`${source} is blocked for ${victim} until ${until}${isDry ? t` (dry run: nothing is dropped)` : ""}.`;
}
