/** The encapsulations that packets can be taken out of, so that the packet within counts. */
import type { ENCAPSULATIONS } from "../native/constants.ts";

export type Encapsulation = (typeof ENCAPSULATIONS)[number];
