/**
 * A client in a network namespace of its own: asks each address over a connection of its own, one after the other, and
 * prints how many milliseconds passed until the first byte of each answer, as JSON. Like a browser it connects again at
 * once where a connection is reset before that.
 */
const CONNECTIONS_MAX = 4;

const [port, ...addresses] = Bun.argv.slice(2);
const times: number[] = [];
for (const address of addresses) times.push(await firstByteMs(address));
console.log(JSON.stringify(times));
process.exit();

async function firstByteMs(hostname: string): Promise<number> {
  const startedMs = performance.now();
  for (let connection = 0; connection < CONNECTIONS_MAX; connection++) {
    if (await isAnswered(hostname)) return performance.now() - startedMs;
  }
  throw new Error(`${hostname} reset ${CONNECTIONS_MAX} connections`);
}

async function isAnswered(hostname: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const isOver = () => resolve(false);
  const socket = {
    open: (peer: Bun.Socket) => void peer.write("line"),
    data(peer: Bun.Socket) {
      resolve(true);
      peer.end();
    },
    close: isOver,
    error: isOver,
    connectError: isOver,
  };
  Bun.connect({ hostname, port: Number(port), socket }).catch(isOver);
  return promise;
}
