/** The tubes of a cluster: legal names of beanstalkd for any name of a cluster and a group, no two of them alike. */
import { createHash } from 'node:crypto';

/** The prefix of nest-dq comes before it, and a name has 200 characters at most. */
const LONGEST = 120;
const KEPT = 90;
/** Those that a part of a name keeps. */
const PLAIN = /[A-Za-z0-9._-]/;

/** Messages that are pushed later. */
export function tubeOfPushes(cluster: string | undefined): string {
  return nameOf('kq-push', cluster);
}

/** Failed messages of a group. */
export function tubeOfRetries(cluster: string | undefined, group: string): string {
  return nameOf('kq', cluster, group);
}

/** A part that is absent is empty. */
function nameOf(kind: string, cluster = '', ...more: readonly string[]): string {
  const name = [kind, ...(cluster === '' ? [] : ['', cluster]), ...more].map(escaped).join('/');
  if (name.length <= LONGEST) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 20);
  return `${name.slice(0, KEPT)}$$${hash}`;
}

/** Others as `$` and two digits for each byte; so `$$` is in no such name. */
function escaped(part: string): string {
  return Array.from(part, (each) =>
    PLAIN.test(each) ? each : Array.from(Buffer.from(each), (byte) => `$${hex(byte)}`).join(''),
  ).join('');
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}
