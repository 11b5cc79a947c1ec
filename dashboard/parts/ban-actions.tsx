/** Ban and unban, each with a question before it. Nothing is there for who may not. */
import { useState } from "preact/hooks";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { command } from "../api/client.ts";
import { tookBan } from "../api/live.ts";
import { status } from "../api/running.ts";
import { mayAct } from "../api/session.ts";
import { Button } from "./button.tsx";
import { Confirm } from "./dialog.tsx";
import { TextField } from "./field.tsx";

/** `target`: of a button beside it; absent: it is asked for. */
export function BanButton({ target }: { readonly target?: string }) {
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  if (!mayAct()) return null;
  const ip = target ?? typed.trim();
  return (
    <>
      <Button
        look={target === undefined ? "plain" : "danger"}
        label={`Ban ${target ?? "an address"}`}
        onClick={() => setOpen(true)}
      >
        {target === undefined ? "Ban an address …" : "Ban …"}
      </Button>
      {isOpen && (
        <Confirm<BanWire>
          title={target === undefined ? "Ban an address" : `Ban ${target}?`}
          verb="Ban"
          isDangerous
          act={() => command("/api/v1/ban", { ip })}
          onDone={tookBan}
          onClose={() => setOpen(false)}
        >
          {target === undefined && (
            <TextField label="Address" value={typed} onInput={setTyped} placeholder="203.0.113.7" isRequired />
          )}
          <p>
            {isDryRun()
              ? "Dry run: the ban is recorded, nothing is announced."
              : "Its traffic is dropped, filtered or diverted as its hostgroup says, until the ban's time is over or you unban it."}
          </p>
        </Confirm>
      )}
    </>
  );
}

export function UnbanButton({ ban }: { readonly ban: BanWire }) {
  const [isOpen, setOpen] = useState(false);
  if (!mayAct() || ban.state !== "active") return null;
  const { target, prefix, manual } = ban;
  return (
    <>
      <Button label={`Unban ${prefix}`} onClick={() => setOpen(true)}>
        Unban …
      </Button>
      {isOpen && (
        <Confirm<BanWire>
          title={`Unban ${prefix}?`}
          verb="Unban"
          isDangerous
          act={() => command("/api/v1/unban", { ip: target })}
          onDone={tookBan}
          onClose={() => setOpen(false)}
        >
          <p>
            Its traffic flows again as before.
            {manual ? "" : " An attack that still goes on does not ban it again; the next attack does."}
          </p>
        </Confirm>
      )}
    </>
  );
}

function isDryRun(): boolean {
  const { value } = status.state;
  return value.kind === "ready" && value.data.dry_run;
}
