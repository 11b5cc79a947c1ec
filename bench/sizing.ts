/** A model of larger machines, from the costs of a packet that were measured here: docs/sizing.md explains it. */

/** CPU time of a packet, ns. */
export interface PacketCost {
  /** In the driver, the XDP program and the socket. */
  readonly receiving: number;
  /** In the capture worker. */
  readonly counting: number;
}

/** For the event loop, the fold and the history. */
const OTHER_CORES = 2;
/** Share that is left when RSS spreads packets unevenly and all cores share caches and memory. */
const EVENNESS = 0.7;
/** Preamble and gap between frames, as long as 20 bytes (IEEE 802.3). */
const GAP_BYTES = 20;

const CORES = [8, 16, 32];
const GBITS = [25, 100];
const FRAME_BYTES = [64, 512, 1500];

/** Frames per second, in millions, that fill a link. The length of a frame includes its check sum. */
export function lineRateMpps(gbits: number, frameBytes: number): number {
  return (1000 * gbits) / (8 * (frameBytes + GAP_BYTES));
}

/** Packets per second, in millions, that a machine counts, if each queue has a core for its driver and its worker. */
export function capacityMpps(cores: number, { receiving, counting }: PacketCost): number {
  return ((cores - OTHER_CORES) * EVENNESS * 1000) / (receiving + counting);
}

/** Lines of a table; each cell is the capacity as a share of the line rate. */
export function sizingTable(cost: PacketCost): string[] {
  const links = GBITS.flatMap((gbits) =>
    FRAME_BYTES.map((bytes) => ({ gbits, bytes, rate: lineRateMpps(gbits, bytes) })),
  );
  const heads = links.map(({ gbits, bytes, rate }) => `${gbits} Gbit/s, ${bytes} B: ${rate.toFixed(1)} Mpps`);
  const rows = CORES.map((cores) => {
    const capacity = capacityMpps(cores, cost);
    const shares = links.map(({ rate }) => (capacity >= rate ? "all" : `${((100 * capacity) / rate).toFixed(0)} %`));
    return [String(cores), capacity.toFixed(0), ...shares];
  });
  const head = ["cores", "Mpps", ...heads];
  return [head, head.map(() => "---"), ...rows].map((line) => `| ${line.join(" | ")} |`);
}
