/** The list `order_templates`: bans by hand that are written once, and ordered by name. */
import type { Static } from "@sinclair/typebox";
import { ORDER_KEYS } from "../../mitigation/order/order-file.ts";
import type { OrderTemplate } from "../../mitigation/order/order-template.ts";
import { closedObject, described, list, text } from "../../schema/schema-forms.ts";

const ORDER_TEMPLATES_MAX = 100;

const TemplateFile = closedObject({
  name: described(text("ruleName"), "The name by which an order takes it, unique among all of them."),
  ...ORDER_KEYS,
});

export const OrderTemplates = described(
  list(TemplateFile, ORDER_TEMPLATES_MAX),
  "Templates for bans by hand: `template` in an order names one. The other fields of the order take precedence.",
  {
    examples: [
      [{ name: "scrub-center", method: "divert", communities: ["64500:2"], ttl_seconds: 3600 }],
      [
        {
          name: "web-only-small",
          rules: [{ protocol: "udp", ports: ["80", "443"], packet_lengths: ["1200-1500"] }],
          ttl_seconds: 600,
          dry_run: true,
        },
        { name: "no-chargen", rules: [{ protocol: "udp", source_ports: ["19"] }], rate_mbps: 10, reason: "chargen" },
      ],
    ],
  },
);

export function buildTemplates(file: readonly Static<typeof TemplateFile>[]): OrderTemplate[] {
  return file.map(({ name, ...order }) => ({ name, order }));
}
