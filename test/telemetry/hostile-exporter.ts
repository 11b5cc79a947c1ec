/**
 * A process that plays an exporter at its worst, as fast as it can: floods of templates in ever new domains, lengths
 * that lie, cut datagrams, noise; and right records from addresses that are no exporters. Prints the number of
 * datagrams. Usage: hostile-exporter.ts PORT SECONDS SEED FROM OUTSIDER…
 */
import { seededRandom } from "../fixtures/seeded-random.ts";

const [port = 0, seconds = 0, seed = 0] = Bun.argv.slice(2, 5).map(Number);
const [from = "", ...outsiders] = Bun.argv.slice(5);
const random = seededRandom(seed);
const below = (bound: number) => Math.floor(random() * bound);
const to = { hostname: "127.0.0.1", port };
const hostile = await Bun.udpSocket({ hostname: from, socket: { error() {} } });
const others = await Promise.all(outsiders.map((hostname) => Bun.udpSocket({ hostname, socket: { error() {} } })));
const KINDS = [templates, ipfixLies, sflowLies, netflow5Lies, noise];

let sent = 0;
for (const endMs = performance.now() + 1000 * seconds; performance.now() < endMs; await Bun.sleep(0)) {
  for (let i = 0; i < 50; i++) {
    const kind = KINDS[sent % KINDS.length] as () => Buffer;
    const datagram = kind();
    const isCut = below(4) === 0;
    hostile.send(isCut ? datagram.subarray(0, below(datagram.length)) : datagram, to.port, to.hostname);
    for (const other of others) other.send(records(), to.port, to.hostname);
    sent++;
  }
}
console.log(sent);
process.exit(0);

/** NetFlow v9: ten templates of random fields and lengths, in a random domain. */
function templates(): Buffer {
  const fields = 1 + below(60);
  const sets = Array.from({ length: 10 }, (_, i) => {
    const set = Buffer.alloc(8 + 4 * fields);
    set.writeUInt16BE(0, 0);
    set.writeUInt16BE(below(8) === 0 ? below(65536) : set.length, 2);
    set.writeUInt16BE(256 + ((sent + i) % 65000), 4);
    set.writeUInt16BE(fields, 6);
    for (let field = 0; field < fields; field++) {
      set.writeUInt16BE(below(500), 8 + 4 * field);
      set.writeUInt16BE(below(10) === 0 ? below(65536) : 1 + below(8), 10 + 4 * field);
    }
    return set;
  });
  const header = Buffer.alloc(20);
  header.writeUInt16BE(9, 0);
  header.writeUInt16BE(10, 2);
  header.writeUInt32BE(below(2 ** 32), 12);
  header.writeUInt32BE(below(2 ** 32), 16);
  return Buffer.concat([header, ...sets]);
}

/** IPFIX with wrong lengths of message, sets and fields; data of templates that may be there. */
function ipfixLies(): Buffer {
  const message = Buffer.alloc(16 + below(1400), below(256));
  message.writeUInt16BE(10, 0);
  message.writeUInt16BE(below(2) === 0 ? message.length : below(65536), 2);
  message.writeUInt32BE(below(100), 12);
  if (message.length >= 24) {
    message.writeUInt16BE([2, 3, 256 + below(1000)][below(3)] ?? 2, 16);
    message.writeUInt16BE(below(message.length), 18);
  }
  return message;
}

/** sFlow with counts and lengths beyond its end. */
function sflowLies(): Buffer {
  const datagram = Buffer.alloc(28 + 4 * below(300));
  for (let at = 28; at + 4 <= datagram.length; at += 4)
    datagram.writeUInt32BE(below(3) === 0 ? below(2 ** 32) : below(200), at);
  datagram.writeUInt32BE(5, 0);
  datagram.writeUInt32BE(1 + below(2), 4);
  datagram.writeUInt32BE(below(2) === 0 ? 8 : below(2 ** 32), 24);
  return datagram;
}

function netflow5Lies(): Buffer {
  const datagram = Buffer.alloc(24 + 48 * below(4));
  datagram.writeUInt16BE(5, 0);
  datagram.writeUInt16BE(below(65536), 2);
  return datagram;
}

function noise(): Buffer {
  return Buffer.from(Array.from({ length: below(600) }, () => below(256)));
}

/** One right record of NetFlow v5, of a host that the test's exporter never names. */
function records(): Buffer {
  const datagram = Buffer.alloc(72);
  datagram.writeUInt16BE(5, 0);
  datagram.writeUInt16BE(1, 2);
  datagram.set([198, 51, 100, 1, 203, 0, 113, 250], 24);
  datagram.writeUInt32BE(1000, 40);
  datagram.writeUInt32BE(64_000, 44);
  return datagram;
}
