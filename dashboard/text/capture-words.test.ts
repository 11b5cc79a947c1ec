import { expect, test } from "bun:test";
import { captureText } from "./capture-words.ts";

test("how an interface is captured, each word once", () => {
  expect(captureText({ kind: "xdp_inline", mode: "native, filtering, inline, 1 header in 256" })).toBe(
    "XDP, inline (native, filtering, 1 header in 256)",
  );
  expect(captureText({ kind: "pcap_file", mode: "capture file at its own pace" })).toBe("capture file at its own pace");
  expect(captureText({ kind: "some_kind", mode: "" })).toBe("some kind");
});
