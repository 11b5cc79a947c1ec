/** Saves a table as a file, from what the page has read. */
import { serviceNow } from "../api/contact.ts";
import { saveFile } from "./save-file.ts";

/** @param name `attacks`: the file is `floodwall-attacks-2026-03-01T120000Z.csv` */
export function saveCsv(name: string, text: string): void {
  const time = new Date(serviceNow()).toISOString().slice(0, 19).replaceAll(":", "");
  saveFile(`floodwall-${name}-${time}Z.csv`, new Blob([text], { type: "text/csv;charset=utf-8" }));
}
