/** A closed set of words on the wire. */
import { type TLiteral, type TUnion, Type } from "@sinclair/typebox";

type Literals<Words extends readonly string[]> = { -readonly [K in keyof Words]: TLiteral<Words[K]> };

export function oneOf<const Words extends readonly string[]>(...words: Words): TUnion<Literals<Words>> {
  return Type.Union(words.map((word) => Type.Literal(word))) as TUnion<Literals<Words>>;
}
