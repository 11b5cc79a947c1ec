/** Bans as a brain of the model has them: in force in memory, and on a disk that outlives the process. */
import type { OrderTable, TableEnd } from "../../../src/cluster/order-table.ts";
import type { StampedOrder } from "../../../src/cluster/stamped-order.ts";

/** A ban that an operator ordered; times are wall clock, ms. */
export interface ModelBan {
  readonly key: string;
  readonly beganAt: number;
  readonly endsAt: number;
}

export const BAN_LIFE_MS = 86_400_000;

/** What a kill leaves. */
export class ModelDisk {
  readonly bans = new Map<string, ModelBan>();
  readonly stamps = new Map<string, StampedOrder>();

  wipe(): void {
    this.bans.clear();
    this.stamps.clear();
  }
}

export class ModelBans implements OrderTable {
  readonly lifeMs = BAN_LIFE_MS;
  readonly endedMax = 10_000;
  readonly #disk: ModelDisk;
  readonly #inForce: Map<string, ModelBan>;

  constructor(disk: ModelDisk) {
    this.#disk = disk;
    this.#inForce = new Map(disk.bans);
  }

  /** Of routes that are wanted. */
  get keys(): string[] {
    return [...this.#inForce.keys()].sort();
  }

  put(ban: ModelBan): void {
    this.#disk.bans.set(ban.key, ban);
    this.#inForce.set(ban.key, ban);
  }

  remove(key: string): void {
    this.#disk.bans.delete(key);
    this.#inForce.delete(key);
  }

  expire(wallMs: number): void {
    for (const { key, endsAt } of [...this.#inForce.values()]) if (endsAt <= wallMs) this.remove(key);
  }

  keyOf(record: unknown): string {
    return (record as ModelBan).key;
  }

  isKey(): boolean {
    return true;
  }

  parse(value: unknown, key: string): ModelBan | null {
    const ban = value as Partial<ModelBan>;
    return ban.key === key && typeof ban.endsAt === "number" ? (ban as ModelBan) : null;
  }

  present(key: string): ModelBan | null {
    return this.#inForce.get(key) ?? null;
  }

  all(): Iterable<ModelBan> {
    return this.#inForce.values();
  }

  beganAt(record: unknown): number {
    return (record as ModelBan).beganAt;
  }

  endsAt(record: unknown): number {
    return (record as ModelBan).endsAt;
  }

  shifted(record: unknown, byMs: number): ModelBan {
    const { key, beganAt, endsAt } = record as ModelBan;
    return { key, beganAt: beganAt + byMs, endsAt: endsAt + byMs };
  }

  adopt(record: unknown): null {
    this.put(record as ModelBan);
    return null;
  }

  end({ key }: TableEnd): void {
    this.remove(key);
  }
}

/** Tables that the model does not use. */
export const EMPTY_TABLE: OrderTable = {
  lifeMs: BAN_LIFE_MS,
  endedMax: 0,
  keyOf: () => "",
  isKey: () => false,
  parse: () => null,
  present: () => null,
  all: () => [],
  beganAt: () => 0,
  endsAt: () => null,
  shifted: (record) => record,
  adopt: () => "unused",
  end: () => {},
};
