/**
 * The newest packets of one attack in flat memory: tens of thousands of small arrays would keep the garbage collector
 * busy during the worst attack.
 */
import { SAMPLE_RECORD } from "../../native/constants.ts";
import type { CapturedPacket } from "../../traffic/pcap-file.ts";

const SLOT_BYTES = SAMPLE_RECORD.frameBytes;
const FIRST_SLOTS = 8;

export class PacketRing {
  #frames = new Uint8Array(FIRST_SLOTS * SLOT_BYTES);
  #atMs = new Float64Array(FIRST_SLOTS);
  #wireBytes = new Uint32Array(FIRST_SLOTS);
  #capturedBytes = new Uint32Array(FIRST_SLOTS);
  /** Slot of the oldest packet. */
  #first = 0;
  #count = 0;

  get length(): number {
    return this.#count;
  }

  /** Copies the packet in, of its frame the first 128 bytes; with `max` packets or more, the oldest go first. */
  push({ atMs, wireBytes, frame }: CapturedPacket, max: number): void {
    if (this.#count >= max) this.keepNewest(max - 1);
    if (this.#count === this.#atMs.length) this.#resize(2 * this.#count);
    const slot = this.#slot(this.#count++);
    const captured = Math.min(frame.length, SLOT_BYTES);
    this.#frames.set(frame.length > captured ? frame.subarray(0, captured) : frame, slot * SLOT_BYTES);
    this.#atMs[slot] = atMs;
    this.#wireBytes[slot] = wireBytes;
    this.#capturedBytes[slot] = captured;
  }

  keepNewest(count: number): void {
    const surplus = Math.max(0, this.#count - count);
    this.#first = this.#slot(surplus);
    this.#count -= surplus;
  }

  /** Keeps the newest, and gives memory back if most of it is then unused. */
  limit(count: number): void {
    this.keepNewest(count);
    if (this.#atMs.length > 2 * this.#count) this.trim();
  }

  /** Gives memory back that is not used. */
  trim(): void {
    if (this.#count < this.#atMs.length) this.#resize(Math.max(1, this.#count));
  }

  /** Copies, oldest first. */
  packets(): CapturedPacket[] {
    return Array.from({ length: this.#count }, (_, i) => {
      const slot = this.#slot(i);
      const frameAt = slot * SLOT_BYTES;
      return {
        atMs: this.#atMs[slot] as number,
        wireBytes: this.#wireBytes[slot] as number,
        frame: this.#frames.slice(frameAt, frameAt + (this.#capturedBytes[slot] as number)),
      };
    });
  }

  #slot(index: number): number {
    return (this.#first + index) % this.#atMs.length;
  }

  /** @param slots at least as many as there are packets. */
  #resize(slots: number): void {
    const [frames, atMs, wireBytes, capturedBytes] = [this.#frames, this.#atMs, this.#wireBytes, this.#capturedBytes];
    this.#frames = new Uint8Array(slots * SLOT_BYTES);
    this.#atMs = new Float64Array(slots);
    this.#wireBytes = new Uint32Array(slots);
    this.#capturedBytes = new Uint32Array(slots);
    // To the end of the ring, then from its start on.
    const first = Math.min(this.#count, atMs.length - this.#first);
    for (const [from, to, count] of [
      [this.#first, 0, first],
      [0, first, this.#count - first],
    ] as const) {
      this.#frames.set(frames.subarray(from * SLOT_BYTES, (from + count) * SLOT_BYTES), to * SLOT_BYTES);
      this.#atMs.set(atMs.subarray(from, from + count), to);
      this.#wireBytes.set(wireBytes.subarray(from, from + count), to);
      this.#capturedBytes.set(capturedBytes.subarray(from, from + count), to);
    }
    this.#first = 0;
  }
}
