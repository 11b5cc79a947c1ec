/** Parses a stream of server-sent events (HTML Standard, section 9.2) that arrives in pieces. */

export interface SentEvent {
  readonly name: string;
  readonly data: string;
}

export class EventLines {
  #rest = "";
  #name = "";
  #data: string[] = [];
  #isAfterReturn = false;
  /** The id to resume from after a disconnect; null: none received yet. */
  lastId: string | null = null;

  /** Returns the events that are complete with this piece. */
  push(piece: string): SentEvent[] {
    // A line feed may arrive in a later piece than its carriage return.
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
