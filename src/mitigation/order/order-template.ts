/** An order that the configuration has by name. */
import type { OrderFile } from "./order-file.ts";

export interface OrderTemplate {
  readonly name: string;
  readonly order: OrderFile;
}
