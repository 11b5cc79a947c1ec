/** The list `maintenance`: windows in which some targets are treated otherwise. */
import { WindowFile } from "../../mitigation/maintenance/window-file.ts";
import { described, list } from "../../schema/schema-forms.ts";

const WINDOWS_MAX = 100;

export const Maintenance = described(
  list(WindowFile, WINDOWS_MAX),
  "Maintenance windows: times in which attacks on some targets are only watched, judged by higher thresholds, or not notified.",
  {
    examples: [
      [
        {
          name: "backups",
          prefixes: ["192.0.2.0/28"],
          weekly: { days: ["sat", "sun"], at: "02:00", minutes: 120, time_zone: "Europe/Berlin" },
          threshold_factor: 5,
          quiet: true,
        },
        {
          name: "move",
          from: "2026-03-01T02:00:00Z",
          until: "2026-03-01T06:00:00Z",
          watch_only: true,
          quiet: true,
          reason: "the racks move",
        },
      ],
    ],
  },
);
