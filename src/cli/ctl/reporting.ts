/** The command that writes reports for customers, as HTML or, by a browser of this machine, as PDF. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { messageOf } from "../../system/error-message.ts";
import { Refused } from "./api.ts";
import { type CtlCall, type CtlCommand, CtlUsage, given, momentOf, type Options } from "./command.ts";

/** Tried in this order. */
const BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const PDF_MS = 60_000;

export const REPORTING: readonly CtlCommand[] = [
  {
    name: "report",
    ...{ operands: "[ATTACK]", count: [0, 1], example: "report --month 2026-03 --tenant acme --pdf acme.pdf" },
    summary: "the report of one attack, or of all attacks of a month, to print or as PDF",
    options: [
      { name: "month", value: "MONTH", help: "as 2026-03, in UTC" },
      {
        name: "from",
        value: "TIME",
        help: "in place of a month: as 2026-03-01T12:00:00Z or 12:00, or how long ago as 7d",
      },
      { name: "to", value: "TIME", help: "the same (default: now)" },
      { name: "tenant", value: "TENANT", help: "attacks on this tenant" },
      { name: "group", value: "HOSTGROUP", help: "attacks on this hostgroup" },
      { name: "html", value: "FILE", help: "write HTML to this file (default: print it)" },
      { name: "pdf", value: "FILE", help: "write PDF to this file; needs Chromium on this machine" },
    ],
    async *run(call) {
      const page = await pageOf(call);
      const [htmlFile, pdfFile] = [given(call.options, "html"), given(call.options, "pdf")];
      if (htmlFile !== undefined) writeFileSync(htmlFile, page);
      if (pdfFile !== undefined) await writePdf(page, resolve(pdfFile), call.env["PATH"] ?? "");
      const files = [htmlFile, pdfFile].filter((file) => file !== undefined);
      const text = files.length === 0 ? page.trimEnd() : `written to ${files.join(" and ")}`;
      yield { answer: files.length === 0 ? { html: page } : { files }, text };
    },
  },
];

function pageOf({ api, operands: [id], options, clock }: CtlCall): Promise<string> {
  const [tenant, group] = [given(options, "tenant"), given(options, "group")];
  if (id === undefined) return api.page("/report", { ...rangeOf(options, clock.wallMs()), tenant, group });
  for (const name of ["month", "from", "to", "tenant", "group"])
    if (options[name] !== undefined) throw new CtlUsage(`--${name} goes with the report of a time, not of one attack`);
  return api.page(`/attacks/${encodeURIComponent(id)}/report`);
}

/** @throws CtlUsage */
function rangeOf(options: Options, nowMs: number): { readonly from: string; readonly to: string | undefined } {
  const [month, from] = [given(options, "month"), momentOf("from", given(options, "from"), nowMs)];
  const to = momentOf("to", given(options, "to"), nowMs);
  if (month === undefined && from === undefined)
    throw new CtlUsage("report takes an attack, --month MONTH, or --from TIME");
  if (month === undefined) return { from: from ?? "", to };
  const [, year, number] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(month) ?? [];
  if (year === undefined) throw new CtlUsage(`--month ${month}: write a month as 2026-03`);
  if (from !== undefined || to !== undefined) throw new CtlUsage("--month goes without --from and --to");
  const end = Math.min(nowMs, Date.UTC(Number(year), Number(number), 1));
  return { from: `${month}-01T00:00:00Z`, to: new Date(end).toISOString() };
}

/** The file is there whole or not at all. @param path where programs are. @throws Refused */
async function writePdf(page: string, file: string, path: string): Promise<void> {
  const browser = BROWSERS.map((name) => Bun.which(name, { PATH: path })).find((found) => found !== null);
  if (browser === undefined)
    throw new Refused(
      "no PDF: there is no Chromium here. Install it (apt install chromium), or print the page of --html",
    );
  const folder = mkdtempSync(join(tmpdir(), "floodwall-report-"));
  try {
    const [source, made] = [join(folder, "report.html"), join(folder, "report.pdf")];
    writeFileSync(source, page);
    const child = Bun.spawn([browser, ...argumentsOf(folder, made), `file://${source}`], {
      ...{ stdin: "ignore", stdout: "ignore", stderr: "ignore", timeout: PDF_MS },
    });
    const code = await child.exited;
    if (code !== 0 || !(await Bun.file(made).exists())) throw new Refused(`no PDF: ${browser} ended with code ${code}`);
    writeFileSync(`${file}.new`, await Bun.file(made).bytes());
    renameSync(`${file}.new`, file);
  } catch (cause) {
    throw cause instanceof Refused ? cause : new Refused(`no PDF: ${messageOf(cause)}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As root, Chromium has no sandbox; the page is of the service, and its own policy lets no script run. */
function argumentsOf(folder: string, file: string): string[] {
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const quiet = ["--headless=new", "--disable-gpu", "--no-first-run", "--disable-extensions", "--no-pdf-header-footer"];
  return [...quiet, ...sandbox, `--user-data-dir=${folder}/profile`, `--print-to-pdf=${file}`];
}
