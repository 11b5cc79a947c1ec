/** Line icons of 16 by 16. They are decoration: the text beside them says the same. */

const PATHS = {
  overview: "M2 2h5v6H2zM9 2h5v4H9zM9 8h5v6H9zM2 10h5v4H2z",
  attacks: "M8 1.500 14.500 13.500H1.500zM8 6v4M8 11.500v.8",
  incidents: "M2.500 2h11v4h-11zM2.500 8h11v2h-11zM2.500 12h11v2h-11z",
  bans: "M8 1.500a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13M3.500 3.500l9 9",
  hosts: "M2 2.500h12v4.500H2zM2 9h12v4.500H2zM4.500 4.750h.1M4.500 11.250h.1",
  nodes: "M8 5V2M8 14v-3M2 8h3M11 8h3M5 5h6v6H5z",
  edge: "M8 1.500a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13M1.500 8h13M8 1.500c4 4 4 9 0 13M8 1.500c-4 4-4 9 0 13",
  explorer: "M2 2v12h12M4.500 11l3-4 2.500 2L14 4",
  telemetry: "M8 9.500v4.500M5 14h6M8 7.500h.1M5.200 10a4 4 0 1 1 5.600 0M3.100 12.100a7 7 0 1 1 9.800 0",
  audit: "M3 1.500h7l3 3v10H3zM5.500 6.500h5M5.500 9h5M5.500 11.500h3",
  settings: "M2 4.500h6M11 4.500h3M9.500 3v3M2 11.500h3M8 11.500h6M6.500 10v3",
  search: "M7 2a5 5 0 1 0 0 10 5 5 0 0 0 0-10M10.500 10.500 14.500 14.500",
  close: "M3.500 3.500l9 9M12.500 3.500l-9 9",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
  moon: "M13.500 9.500A6 6 0 0 1 6.500 2.500a6 6 0 1 0 7 7",
  screen: "M1.500 2.500h13v9h-13zM5.500 14h5",
  leave: "M9.500 2H3v12h6.500M6.500 8H14M11.500 5.500 14 8l-2.500 2.500",
  next: "M6 3l5 5-5 5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
