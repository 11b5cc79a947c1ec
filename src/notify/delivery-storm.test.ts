import { describe, expect, test } from "bun:test";
import { fails, setup } from "../../test/fixtures/notify/delivery-setup.ts";
import { attackEvent } from "../../test/fixtures/notify/notify.ts";
import { attack } from "../../test/fixtures/views.ts";
import { JOINED_AFTER_MS, type SentOnce } from "./delivery-queue.ts";
import type { NotifyEvent } from "./event.ts";

describe("a storm, where several brains have the events", () => {
  const stormy = () => {
    const said = { sent: [] as string[], gaveUp: [] as string[] };
    const idsOf = (all: readonly NotifyEvent[]) => all.map(({ id }) => id).filter((id) => id.startsWith("e"));
    const once: SentOnce = {
      maySend: () => true,
      sent: (all) => said.sent.push(...idsOf(all)),
      gaveUp: (all) => said.gaveUp.push(...idsOf(all)),
    };
    const made = setup("programs", { burst: 1, once });
    const add = () => {
      for (let i = 1; i <= 4; i++)
        made.queue.add({
          ...attackEvent(),
          id: `e${i}`,
          attack: attack({ id: `a${i}`, target: `192.0.2.${i}` as never }),
        });
    };
    return { ...made, said, add };
  };

  test("is said to be sent when the event that counts them is", async () => {
    const { said, add, advance, channel } = stormy();
    add();
    await advance(0);
    await advance(0);
    expect([said.sent, channel.deliveries]).toEqual([["e1"], [["e1"]]]);
    await advance(JOINED_AFTER_MS);
    await advance(0);
    expect([said.sent, channel.deliveries.length]).toEqual([["e1", "e2", "e3", "e4"], 2]);
  });

  test("is left to another brain if that is given up", async () => {
    const { said, add, advance, channel, queue } = stormy();
    channel.outcome = fails;
    add();
    await advance(0);
    queue.close();
    expect([said.sent, said.gaveUp.toSorted()]).toEqual([[], ["e1", "e2", "e3", "e4"]]);
  });
});
