/** The thread that owns one file of history, so that disk access never blocks the event loop of the service. */
import { messageOf } from "../../system/error-message.ts";
import { lowerPriority } from "../../system/priority.ts";
import { nextTurn } from "../../system/timers.ts";
import { StorageFault } from "../storage-fault.ts";
import { type FileCalls, type FileReply, type FileRequest, ofFileBatch } from "./file-calls.ts";
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
    // Orders wait for their audit rows; when CPUs are short, reads of traffic wait behind bans and answers.
    if (argument.role === "series") lowerPriority();
  },
  write: (batch) => opened().write(ofFileBatch(batch)),
  ask: ({ name, question }) => opened().ask(name, question),
  async maintain({ nowMs }) {
    for (const _ of opened().maintain(nowMs)) await nextTurn();
  },
  close() {
    file?.close();
    file = null;
  },
};

self.onmessage = async ({ data }: MessageEvent<FileRequest>) => {
  self.postMessage(await reply(data));
};

async function reply({ id, name, argument }: FileRequest): Promise<FileReply> {
  try {
    const answer = await (calls[name] as (argument: FileRequest["argument"]) => unknown)(argument);
    return { id, kind: "done", answer };
  } catch (cause) {
    const fault = cause instanceof StorageFault ? cause.kind : "refused";
    return { id, kind: "failed", fault, message: messageOf(cause) };
  }
}
