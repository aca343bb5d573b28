/**
 * The YAML of beanstalkd: its statistics are a flat dictionary, and its tubes are a list.
 * All values stay texts: ids have 64 bits, and an instance id may look like a number ("1e10").
 * Strings are bare in 1.12 and quoted in later versions; neither escapes anything.
 */

/** As the server names them, such as `max-job-size`. */
export type Stats = Readonly<Record<string, string>>;

/** Undefined when it is no dictionary. */
export function parseStats(bytes: Buffer): Stats | undefined {
  const [head, ...lines] = bytes.toString('utf8').split('\n');
  if (head !== '---') return undefined;
  const stats: Record<string, string> = {};
  for (const line of lines) {
    if (line === '') continue;
    const colon = line.indexOf(':');
    if (colon < 1) return undefined;
    stats[line.slice(0, colon)] = unquoted(line.slice(colon + 1).trim());
  }
  return stats;
}

/** The names in a list. Undefined when it is none. */
export function parseNames(bytes: Buffer): string[] | undefined {
  const [head, ...lines] = bytes.toString('utf8').split('\n');
  const names = lines.filter((line) => line !== '');
  if (head !== '---' || !names.every((line) => line.startsWith('- '))) return undefined;
  return names.map((line) => unquoted(line.slice(2)));
}

function unquoted(text: string): string {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}
