/** Tube names of a cluster: valid in beanstalkd and unique for any cluster and group name. */
import { createHash } from 'node:crypto';

/** Max length: nest-dq prepends its prefix, and a name has at most 200 characters. */
const LONGEST = 120;
const KEPT = 90;
/** Characters kept as they are. */
const PLAIN = /[A-Za-z0-9._-]/;

/** Returns the tube of delayed pushes. */
export function tubeOfPushes(cluster: string | undefined): string {
  return nameOf('kq-push', cluster);
}

/** Returns the tube of a group's failed messages. */
export function tubeOfRetries(cluster: string | undefined, group: string): string {
  return nameOf('kq', cluster, group);
}

/** Joins the parts of a name. An absent part is empty. */
function nameOf(kind: string, cluster = '', ...more: readonly string[]): string {
  const name = [kind, ...(cluster === '' ? [] : ['', cluster]), ...more].map(escaped).join('/');
  if (name.length <= LONGEST) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 20);
  return `${name.slice(0, KEPT)}$$${hash}`;
}

/** Escapes other characters as `$` and two digits per byte, so no such name contains `$$`. */
function escaped(part: string): string {
  return Array.from(part, (each) =>
    PLAIN.test(each) ? each : Array.from(Buffer.from(each), (byte) => `$${hex(byte)}`).join(''),
  ).join('');
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}
