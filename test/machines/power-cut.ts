/**
 * `make powercut`: power cuts of a machine on which the service takes orders. The service runs on a stock kernel under
 * QEMU, its state is on ext4, and the disk has a write cache that a cut empties: of the 4 KiB sectors that were written
 * and not flushed, each may be stored or not. After each cut the machine checks the file system and starts the service,
 * which must have every order that it acknowledged. Not covered: a sector that is half written, a disk whose flush lies.
 */
import { join } from "node:path";
import { OrderLedger } from "../fixtures/order-ledger.ts";
import { Chance, seededRandom } from "../fixtures/seeded-random.ts";
import { Undo } from "../fixtures/undo.ts";
import { DiskServer } from "./disk-server.ts";
import { type KernelImage, kernelImage, virtualMachineUnavailable } from "./kernel-image.ts";
import { PoweredService } from "./powered-service.ts";
import { giveOrders, stateOf } from "./stored-orders.ts";
import { VolatileDisk } from "./volatile-disk.ts";

const DISK_BYTES = 256 * 1024 * 1024;
/** The latest moment of a cut, ms from the first order on. */
const ORDERS_MS = 15_000;
/**
 * Then the cut waits until one or more writes, up to this number, are not flushed, or for this time, ms. Without that, few
 * cuts would fall between a write and its flush.
 */
const UNFLUSHED_MAX = 2;
const HOLD_MS = 3000;
/** What share of the sectors in its cache the disk had stored. */
const KEPT_SHARES = [0, 0.5, 0.9];
/** One start in this number loses its power too. */
const STARTS_PER_CUT = 3;
const FAULTS_SHOWN = 10;

class PowerCuts {
  readonly #kernel: KernelImage;
  readonly #chance: Chance;
  readonly #socket: string;
  readonly #disk = new VolatileDisk(DISK_BYTES);
  readonly #server: DiskServer;
  readonly #ledger = new OrderLedger();
  readonly #totals = { cuts: 0, lost: 0, undone: 0 };
  /** Errors that the service has logged, and contradictions in what it says. */
  readonly #faults: string[] = [];
  #service: PoweredService | null = null;
  /** What the last start took. */
  #startMs = 0;

  constructor({ kernel, chance, socket }: { kernel: KernelImage; chance: Chance; socket: string }) {
    this.#kernel = kernel;
    this.#chance = chance;
    this.#socket = socket;
    this.#server = new DiskServer(this.#disk, socket);
  }

  /** With an empty disk. Rejects when the service does not start. */
  async begin(): Promise<void> {
    await this.#start({ isNewDisk: true });
  }

  /** Orders, a cut and the next start; prints what came of it. Rejects when the service does not start. */
  async cut(number: number): Promise<void> {
    const { given, acknowledged } = this.#ledger;
    const faultsBefore = this.#faults.length;
    const startMs = performance.now();
    const lostSectors = [await this.#cutAmidOrders()];
    const seconds = (performance.now() - startMs) / 1000;
    if (this.#chance.below(STARTS_PER_CUT) === 0) lostSectors.push(await this.#cutAtStart());
    const { inForce, lost, undone } = await this.#start();
    console.log(
      `cut ${number}: ${this.#ledger.given - given} orders in ${seconds.toFixed(1)} s, ${this.#ledger.acknowledged - acknowledged} acknowledged; ` +
        `unflushed sectors lost: ${lostSectors.join(", then at the start ")}; ` +
        `orders: ${lost.length} lost, ${undone.length} undone, ${inForce} in force`,
    );
    const faults = [...lost, ...undone, ...this.#faults.slice(faultsBefore)];
    for (const text of faults.slice(0, FAULTS_SHOWN)) console.log(`  ${text}`);
  }

  /** Prints the totals. Returns whether nothing is wrong. */
  report(): boolean {
    const { given, acknowledged } = this.#ledger;
    const { cuts, lost, undone } = this.#totals;
    const faults = this.#faults.length;
    console.log(
      `${cuts} power cuts: ${given} orders, ${acknowledged} acknowledged, ${lost} lost, ${undone} undone; ${faults} other faults`,
    );
    return acknowledged > 0 && lost + undone + faults === 0;
  }

  async stop(): Promise<void> {
    await this.#service?.cutPower();
    this.#server.close();
  }

  async #powerOn({ isNewDisk = false } = {}): Promise<PoweredService> {
    this.#service = await PoweredService.powerOn({ kernel: this.#kernel, disk: this.#socket, isNewDisk });
    return this.#service;
  }

  async #start({ isNewDisk = false } = {}) {
    const startMs = performance.now();
    const service = await this.#powerOn({ isNewDisk });
    await service.ready();
    this.#startMs = performance.now() - startMs;
    const { inForce, contradictions } = await stateOf(service);
    const { lost, undone } = this.#ledger.compare(inForce);
    this.#faults.push(...contradictions, ...service.newErrors());
    this.#totals.lost += lost.length;
    this.#totals.undone += undone.length;
    return { inForce: inForce.size, lost, undone };
  }

  async #cutAmidOrders(): Promise<string> {
    const service = this.#service;
    if (service === null) throw new Error("the service was not started");
    const orders = giveOrders(service, this.#ledger, this.#chance).then(() => "no answer");
    const moment = this.#moment(ORDERS_MS).then(() => "moment");
    const first = await Promise.race([orders, moment]);
    if (first !== "moment") throw new Error(`the service does not answer:\n${service.tail()}`);
    const lost = await this.#cutPower(service);
    await orders;
    return lost;
  }

  async #cutAtStart(): Promise<string> {
    const service = await this.#powerOn();
    await this.#moment(this.#startMs);
    return this.#cutPower(service);
  }

  async #moment(latestMs: number): Promise<void> {
    await Bun.sleep(this.#chance.random() * latestMs);
    await Promise.race([this.#server.holdAt(1 + this.#chance.below(UNFLUSHED_MAX)), Bun.sleep(HOLD_MS)]);
  }

  async #cutPower(service: PoweredService): Promise<string> {
    await service.cutPower();
    await this.#server.disconnected();
    this.#faults.push(...service.newErrors());
    const share = this.#chance.oneOf(KEPT_SHARES);
    const { dropped, unflushed } = this.#disk.cut(() => this.#chance.random() < share);
    this.#totals.cuts++;
    return `${dropped} of ${unflushed}`;
  }
}

async function main(): Promise<number> {
  const count = Number(process.env["CUTS"] ?? 12);
  const seed = Number(process.env["SEED"] || Math.floor(Math.random() * 2 ** 31));
  const kernel = await kernelImage("bookworm");
  console.log(`power cuts on Linux ${kernel.release}, seed ${seed}`);
  await using undo = new Undo();
  const socket = join(undo.folder("disk"), "socket");
  const cuts = new PowerCuts({ kernel, socket, chance: new Chance(seededRandom(seed)) });
  undo.add(() => cuts.stop());
  await cuts.begin();
  for (let number = 1; number <= count; number++) await cuts.cut(number);
  return cuts.report() ? 0 : 1;
}

const unavailable = virtualMachineUnavailable();
if (unavailable === null) process.exit(await main());
console.log(`skipped: power cuts: ${unavailable}`);
