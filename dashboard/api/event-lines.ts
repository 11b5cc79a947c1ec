/** Takes a stream of server-sent events apart (HTML Standard, section 9.2), as it comes in pieces. */

export interface SentEvent {
  readonly name: string;
  readonly data: string;
}

export class EventLines {
  #rest = "";
  #name = "";
  #data: string[] = [];
  #isAfterReturn = false;
  /** Where to go on after a break; null: not told yet. */
  lastId: string | null = null;

  /** The events that are whole with this piece. */
  push(piece: string): SentEvent[] {
    // A line feed may come in another piece than its carriage return.
    const text = this.#isAfterReturn && piece.startsWith("\n") ? piece.slice(1) : piece;
    this.#isAfterReturn = piece.endsWith("\r");
    const lines = (this.#rest + text).split(/\r\n|\n|\r/);
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line) ?? []);
  }

  #line(line: string): SentEvent | null {
    if (line === "") return this.#end();
    const [, field = "", value = ""] = /^([^:]*)(?:: ?)?(.*)$/.exec(line) ?? [];
    if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id" && !value.includes("\0")) this.lastId = value;
    return null;
  }

  #end(): SentEvent | null {
    const event = { name: this.#name || "message", data: this.#data.join("\n") };
    const isEmpty = this.#data.length === 0;
    this.#name = "";
    this.#data = [];
    return isEmpty ? null : event;
  }
}
