/**
 * Random numbers for the choice of packets, from a seed and the names of what they are for. Two machines that see the same
 * packets then keep the same ones, and a replay repeats itself.
 *
 * There is no secret in it, which would make machines disagree. Who reads this can know the numbers, but not what they
 * are used for: the n-th number goes to the n-th packet that the counter sampled of the host, from all senders in the order
 * of their arrival, of which he sees his own; and a packet that stands for many is kept whatever the number.
 */

/** A function like Math.random: sfc32 (Doty-Humphrey), begun with the hash of the names. */
export function seededDraws(seed: number, ...names: readonly (string | number | null)[]): () => number {
  let hash = 0x811c9dc5 ^ seed;
  const text = names.join("\n");
  // FNV-1a.
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  let [a, b, c, counter] = [seed | 0, hash | 0, (hash ^ 0x9e3779b9) | 0, 1];
  const next = () => {
    const drawn = (a + b + counter++) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + drawn) | 0;
    return drawn >>> 0;
  };
  for (let i = 0; i < 12; i++) next();
  return () => next() / 2 ** 32;
}
