/** The kind of an attack (docs/interface.md#classification). */
import { type Static, Type } from "@sinclair/typebox";
import type { Classification } from "../../../detection/attack/classifier.ts";
import { VECTORS, type Vector } from "../../../detection/attack/vector.ts";
import { closedObject } from "../../../schema/schema-forms.ts";
import { omitNulls } from "../omit-nulls.ts";

const VectorWire = Type.Unsafe<Vector>(Type.Union(VECTORS.map((vector) => Type.Literal(vector))));
const Share = Type.Number({ minimum: 0, maximum: 1 });
const SourcePort = Type.Optional(Type.Integer());

export const ClassificationWire = closedObject({
  type: VectorWire,
  confidence: Share,
  /** Only for amplification vectors. */
  src_port: SourcePort,
  /** The vectors of a mixed attack, most traffic first. */
  parts: Type.Optional(Type.Array(closedObject({ type: VectorWire, share: Share, src_port: SourcePort }))),
});
export type ClassificationWire = Static<typeof ClassificationWire>;

export function classificationToWire({ type, confidence, sourcePort, parts }: Classification): ClassificationWire {
  const several = parts.map((part) => omitNulls({ type: part.type, share: part.share, src_port: part.sourcePort }));
  return omitNulls({ type, confidence, src_port: sourcePort, parts: several.length < 2 ? null : several });
}
