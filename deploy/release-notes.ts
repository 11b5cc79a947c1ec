/** The part of the changelog about one version, as the text of its release. */

/** Throws when the changelog says nothing of the version. @param version the one of package.json */
export function releaseNotes(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m).slice(1);
  const ofVersion = (text: string) =>
    text
      .split("\n", 1)[0]
      ?.split(/[\s()]+/)
      .includes(version) === true;
  const section = sections.find(ofVersion);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section of ${version}`);
  const [, ...lines] = section.split("\n");
  return `# Floodwall ${version}\n\n${lines.join("\n").trim()}\n`;
}
