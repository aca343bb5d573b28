/** Messages addressed to one group. */
import type { Headers } from './message.js';

/** The only group the message is for, in UTF-8; no group if empty. */
export const FOR_GROUP = 'kq-for';

/** Returns false if the group skips the message as if it didn't exist. */
export function isFor(headers: Headers, group: string): boolean {
  const name = headers[FOR_GROUP];
  return name === undefined || String([name].flat()[0] ?? '') === group;
}
