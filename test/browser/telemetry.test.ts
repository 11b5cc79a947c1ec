/** Exporters in the dashboard: one that sends, one that never did, a stranger; and the page of each. */
import { afterAll, expect, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { SECRETS } from "../fixtures/browser/world.ts";
import { DatagramSender, freeUdpPort, netflow5 } from "../fixtures/telemetry/datagrams.ts";
import { Undo } from "../fixtures/undo.ts";

const undo = new Undo();
afterAll(() => undo.all());
const browser = useBrowser();

const FLOW = { source: "198.51.100.1", destination: "203.0.113.7", packets: 10, bytes: 5000 };

test("exporters are listed with faults first, each has its page, and strangers are named", async () => {
  const port = await freeUdpPort();
  const config = `
telemetry:
  listen: [{ address: 127.0.0.1, port: ${port} }]
  exporters:
    - { address: 127.0.0.1, name: edge1 }
    - { address: 192.0.2.64/28, name: edge2, silent_after_seconds: 5 }
`;
  await browser.inWorld({ config }, async (dashboard) => {
    const [exporter, stranger] = [await DatagramSender.bound("127.0.0.1"), await DatagramSender.bound("127.0.0.2")];
    let sequence = 0;
    const sending = setInterval(() => {
      exporter.send(netflow5([FLOW], { sequence: sequence++, samplingRate: 100 }), port);
      stranger.send(netflow5([FLOW]), port);
    }, 100);
    undo.add(() => {
      clearInterval(sending);
      exporter.close();
      stranger.close();
    });
    const opened = await dashboard.open("/telemetry", SECRETS.viewer);
    const { page } = opened;
    await page.getByRole("row", { name: /^edge2 silent/ }).waitFor();
    await page.getByRole("row", { name: /^edge1 ok .*NetFlow 5.*1:100/ }).waitFor();
    const names = await page.getByRole("table").first().getByRole("rowheader").allTextContents();
    expect(names).toEqual(["edge2", "edge1"]);
    await page.getByText("Others send too, and are dropped").waitFor();
    await page.getByText(/127\.0\.0\.2/).waitFor();
    expect(await opened.violations()).toEqual([]);
    await page.getByRole("link", { name: "edge2" }).click();
    await page.getByText(/^Silent: no datagram yet, for \d/).waitFor();
    await page.goto(`${dashboard.world.base}/#/telemetry`);
    await page.getByRole("link", { name: "edge1" }).click();
    await page.getByRole("heading", { name: "Exporter edge1" }).waitFor();
    await page.getByRole("row", { name: /^number 1 / }).waitFor();
    await page.getByText("All of it is understood.").waitFor();
    expect(await opened.violations()).toEqual([]);
    await page.goto(`${dashboard.world.base}/#/`);
    await page.getByRole("link", { name: "1 of 2 exporters with a fault" }).click();
    await page.getByRole("row", { name: /^edge2/ }).waitFor();
    const tenant = await dashboard.open("/", SECRETS.tenantOperator);
    expect(await tenant.page.getByRole("link", { name: "Telemetry" }).count()).toBe(0);
  });
}, 60_000);
