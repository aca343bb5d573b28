/**
 * The two forms of YAML that beanstalkd sends: a flat dictionary and a list of names.
 * All values stay texts: ids have 64 bits, and an instance id may look like a number ("1e10").
 * Strings are bare in 1.12 and quoted in later versions; neither escapes anything.
 */

/** As the server names them, such as `max-job-size`. */
export type Stats = Readonly<Record<string, string>>;

/** Undefined when it is no dictionary. */
export function parseStats(bytes: Buffer): Stats | undefined {
  const lines = linesOf(bytes);
  if (lines === undefined) return undefined;
  const stats: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon < 1) return undefined;
    stats[line.slice(0, colon)] = unquoted(line.slice(colon + 1).trim());
  }
  return stats;
}

/** Undefined when it is no list. */
export function parseNames(bytes: Buffer): string[] | undefined {
  const lines = linesOf(bytes);
  if (lines === undefined) return undefined;
  const names: string[] = [];
  for (const line of lines) {
    if (!line.startsWith('- ')) return undefined;
    names.push(unquoted(line.slice(2).trim()));
  }
  return names;
}

function linesOf(bytes: Buffer): string[] | undefined {
  const [head, ...lines] = bytes.toString('utf8').split('\n');
  return head === '---' ? lines.filter((line) => line !== '') : undefined;
}

function unquoted(text: string): string {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}
