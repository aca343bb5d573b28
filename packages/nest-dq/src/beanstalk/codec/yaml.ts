/**
 * Parses beanstalkd's YAML: statistics are a flat dictionary, tubes a list.
 * All values stay strings: ids have 64 bits, and an instance id may look like a number ("1e10").
 * Strings are bare in 1.12 and quoted in later versions; neither escapes anything.
 */
import { isTubeName } from './commands.js';

/** beanstalkd's statistics have less than 2 KiB. */
const LARGEST_STATS_BYTES = 2 ** 16;
/** More than 100,000 names of usual length. */
const LARGEST_LIST_BYTES = 2 ** 22;

/** Values by the server's names, such as `max-job-size`. */
export type Stats = Readonly<Record<string, string>>;

/** Returns undefined if it isn't a dictionary, or is too long for one of beanstalkd's. */
export function parseStats(bytes: Buffer): Stats | undefined {
  if (bytes.length > LARGEST_STATS_BYTES) return undefined;
  const [head, ...lines] = bytes.toString('utf8').split('\n');
  if (head !== '---') return undefined;
  const stats = Object.create(null) as Record<string, string>; // a name may be `__proto__`
  for (const line of lines) {
    if (line === '') continue;
    const colon = line.indexOf(':');
    if (colon < 1) return undefined;
    stats[line.slice(0, colon)] = unquoted(line.slice(colon + 1).trim());
  }
  return stats;
}

/** Returns the tube names in a list. Undefined if it isn't one, or is too long. */
export function parseNames(bytes: Buffer): string[] | undefined {
  if (bytes.length > LARGEST_LIST_BYTES) return undefined;
  const [head, ...lines] = bytes.toString('utf8').split('\n');
  const items = lines.filter((line) => line !== '');
  if (head !== '---' || !items.every((line) => line.startsWith('- '))) return undefined;
  const names = items.map((line) => unquoted(line.slice(2)));
  return names.every(isTubeName) ? names : undefined;
}

function unquoted(text: string): string {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}
