/** State that brains send each other goes in parts, so that no message is larger than a peer takes. */

/** Bytes of one message as JSON. */
export const MESSAGE_BYTES_MAX = 1024 * 1024;

/** Splits items into lists whose JSON has at most `bytesMax` bytes each; an item that is larger is alone in its list. */
export function* inChunks<T>(items: Iterable<T>, bytesMax = MESSAGE_BYTES_MAX / 4): Generator<T[]> {
  let [chunk, bytes]: [T[], number] = [[], 0];
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item)) + 1;
    if (chunk.length > 0 && bytes + size > bytesMax) {
      yield chunk;
      [chunk, bytes] = [[], 0];
    }
    chunk.push(item);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}
