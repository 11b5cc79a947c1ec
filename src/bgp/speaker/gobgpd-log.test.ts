import { expect, test } from "bun:test";
import { lastLogError, notificationsIn } from "./gobgpd-log.ts";
import { isPrefixLimit, mayBlameRoute, notificationText } from "./peer-notification.ts";

test("finds why gobgpd ended at the end of its log", () => {
  const log = [
    '{"level":"info","msg":"gobgpd started"}',
    '{"level":"fatal","Error":"listen tcp4: in use","msg":"failed to set global config"}',
    "not JSON",
    "",
  ].join("\n");
  expect(lastLogError(log)).toBe("failed to set global config: listen tcp4: in use");
  expect(lastLogError('{"level":"fatal","Error":{"Op":"listen"},"msg":"failed"}')).toBe('failed: {"Op":"listen"}');
  const capitals = '{"time":"2026-01-01T00:00:00Z","level":"ERROR","msg":"failed","File":"a.toml","Error":"in use"}';
  expect(lastLogError(capitals)).toBe("failed: in use");
  expect(lastLogError('{"level":"info","msg":"gobgpd started"}')).toBeNull();
  expect(lastLogError('{"level":"INFO","msg":"gobgpd started"}')).toBeNull();
  expect(lastLogError("")).toBeNull();
});

test("finds the notifications from neighbors in the log, and says what they mean", () => {
  // RFC 4486, 4: IPv4 FlowSpec, 1,000.
  const limit = Buffer.from([0, 1, 133, 0, 0, 3, 232]).toString("base64");
  const log = [
    `{"Code":6,"Data":"${limit}","Key":"192.0.2.2","Subcode":1,"Topic":"Peer","level":"warning","msg":"received notification"}`,
    '{"Code":6,"Data":"","Key":"192.0.2.2","Subcode":1,"level":"warning","msg":"sent notification"}',
    '{"level":"INFO","msg":"received notification","Topic":"Peer","Key":"2001:db8::2","Code":6,"Subcode":1,"Data":""}',
    '{"level":"INFO","msg":"received notification","Topic":"Peer","Key":"192.0.2.3","Code":3,"Subcode":9,"Data":null}',
    '{"msg":"received notification"}',
    "received notification, cut off",
  ];
  const found = notificationsIn(log.join("\n"));
  expect(found.map((one) => [one.neighbor, notificationText(one), isPrefixLimit(one), mayBlameRoute(one)])).toEqual([
    [
      "192.0.2.2",
      "cease: maximum number of prefixes reached, 1000 of IPv4 flowspec (BGP notification 6/1)",
      true,
      false,
    ],
    ["2001:db8::2", "cease: maximum number of prefixes reached (BGP notification 6/1)", true, false],
    ["192.0.2.3", "UPDATE message error (BGP notification 3/9)", false, true],
  ]);
});
