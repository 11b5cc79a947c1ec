/**
 * Keeps what hosts received before attacks over a restart: one file in `state_dir`, replaced as a whole. It can be
 * learned again, so a damaged file is set aside and is no reason to stop.
 */
import { type FileHandle, rename } from "node:fs/promises";
import { join } from "node:path";
import type { ProfileKeeper } from "../detection/attack/profile-loop.ts";
import type { TrafficProfiles } from "../detection/attack/traffic-profile.ts";
import { PROFILE_RECORD, PROFILE_ROW } from "../native/constants.ts";
import { ADDRESS_BYTES, addressToBytes } from "../net/address.ts";
import { inTurn, openIfThere, replaceFile } from "../system/stored-file.ts";
import { nextTurn } from "../system/timers.ts";
import { words } from "./baseline-file.ts";

/** "FWTP" and a version, little endian; then hosts: address, number of packets, packets; then a host without address. */
const MAGIC = 0x50545746;
const VERSION = 1;
const HEADER_BYTES = 8;
const HOST_BYTES = ADDRESS_BYTES + 4;
const END = new Uint8Array(HOST_BYTES);
/** Hosts that are taken over in one slice. */
const SLICE_HOSTS = 512;
const FILE_BYTES_MAX = 256 * 1024 * 1024;

export class ProfileFile implements ProfileKeeper {
  readonly path: string;

  constructor(stateDir: string) {
    this.path = join(stateDir, "profiles.bin");
  }

  save(profiles: TrafficProfiles): Promise<void> {
    return inTurn(() => replaceFile(this.path, (file) => write(file, profiles)));
  }

  /** Returns the number of hosts. */
  async load(profiles: TrafficProfiles): Promise<number> {
    const bytes = await readIfThere(this.path);
    if (bytes === null) return 0;
    try {
      let hosts = 0;
      for (const { address, records } of hostsIn(bytes)) {
        if (profiles.restore(address, records)) hosts++;
        if (hosts % SLICE_HOSTS === 0) await nextTurn();
      }
      return hosts;
    } catch (cause) {
      await rename(this.path, `${this.path}.damaged`);
      throw new Error(`${this.path} is damaged and was set aside: profiles are learned again`, { cause });
    }
  }
}

async function write(file: FileHandle, profiles: TrafficProfiles): Promise<void> {
  await file.write(words(MAGIC, VERSION));
  for (const { rows, count } of profiles.counted()) await file.write(packed(rows, count));
  for (const { host, records } of profiles.restored()) await file.write(hostBytes(addressToBytes(host), records));
  await file.write(END);
}

function hostBytes(address: Uint8Array, records: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HOST_BYTES + records.length);
  bytes.set(address);
  new DataView(bytes.buffer).setUint32(ADDRESS_BYTES, records.length / PROFILE_RECORD.bytes, true);
  bytes.set(records, HOST_BYTES);
  return bytes;
}

/** Rows without the records that they have room for. */
function packed(rows: Uint8Array, count: number): Uint8Array {
  const view = new DataView(rows.buffer, rows.byteOffset);
  return Buffer.concat(
    Array.from({ length: count }, (_, i) => {
      const at = i * PROFILE_ROW.bytes;
      const length = view.getUint32(at + PROFILE_ROW.count, true) * PROFILE_RECORD.bytes;
      const address = rows.subarray(at + PROFILE_ROW.address, at + PROFILE_ROW.address + ADDRESS_BYTES);
      return hostBytes(address, rows.subarray(at + PROFILE_ROW.records, at + PROFILE_ROW.records + length));
    }),
  );
}

function* hostsIn(bytes: Uint8Array): Generator<{ address: Uint8Array; records: Uint8Array }> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== MAGIC || view.getUint32(4, true) !== VERSION) {
    throw new Error("it has a version that this build does not know");
  }
  for (let at = HEADER_BYTES; ; ) {
    const count = view.getUint32(at + ADDRESS_BYTES, true);
    const from = at + HOST_BYTES;
    const end = from + count * PROFILE_RECORD.bytes;
    if (count === 0 && end === bytes.length) return;
    if (count === 0 || count > PROFILE_ROW.recordsMax || end > bytes.length) throw new Error("a host is cut off");
    // Copies, since a view of one would keep the whole file in memory.
    yield { address: bytes.slice(at, at + ADDRESS_BYTES), records: checked(bytes.slice(from, end)) };
    at = end;
  }
}

/** The file may have been changed: a weight that is none counts as one packet. */
function checked(records: Uint8Array): Uint8Array {
  const view = new DataView(records.buffer);
  for (let at = PROFILE_RECORD.standsFor; at < records.length; at += PROFILE_RECORD.bytes) {
    const weight = view.getFloat32(at, true);
    if (!(weight > 0 && weight < Number.POSITIVE_INFINITY)) view.setFloat32(at, 1, true);
  }
  return records;
}

async function readIfThere(path: string): Promise<Uint8Array | null> {
  const file = await openIfThere(path);
  if (file === null) return null;
  try {
    const { size } = await file.stat();
    if (size > FILE_BYTES_MAX) throw new Error(`${path} is larger than a file of profiles can be`);
    // A slice of a Buffer would be a view.
    const { buffer, byteOffset, length } = await file.readFile();
    return new Uint8Array(buffer, byteOffset, length);
  } finally {
    await file.close();
  }
}
