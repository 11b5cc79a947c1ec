/** The thread that owns one file of history, so that disk access never blocks the event loop of the service. */
import { lowerPriority } from "../../system/priority.ts";
import { nextTurn } from "../../system/timers.ts";
import { answerCalls } from "../call-thread.ts";
import { StorageFault } from "../storage-fault.ts";
import { type FileCalls, ofFileBatch } from "./file-calls.ts";
import { HistoryFile } from "./history-file.ts";

declare const self: Worker;

let file: HistoryFile | null = null;

function opened(): HistoryFile {
  if (file === null) throw new StorageFault("use", "unavailable", "the file is not open");
  return file;
}

const calls: FileCalls = {
  open(argument) {
    if (file?.isInPlace()) return;
    file?.close();
    file = null;
    file = new HistoryFile(argument);
    // Commands wait for their audit rows; when CPUs are short, reads of traffic wait behind bans and answers.
    if (argument.role === "series") lowerPriority();
  },
  write: (batch) => opened().write(ofFileBatch(batch)),
  ask: ({ name, question }) => opened().ask(name, question),
  async maintain({ nowMs }) {
    for (const _ of opened().maintain(nowMs)) await nextTurn();
    return opened().takeGivenUp();
  },
  close() {
    file?.close();
    file = null;
  },
};

answerCalls(self, calls);
