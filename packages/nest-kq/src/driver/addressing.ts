/** Messages that are not for everybody. */
import type { Headers } from './message.js';

/** The only group that the message is for, in UTF-8. Empty: it is for no group. */
export const FOR_GROUP = 'kq-for';

/** False: the group passes the message over, as if it were not there. */
export function isFor(headers: Headers, group: string): boolean {
  const name = headers[FOR_GROUP];
  return name === undefined || String([name].flat()[0] ?? '') === group;
}
