import { hostname, userInfo } from 'node:os';

/** The name of the operator, as reported to others: `ann@web-1`. */
export function operator(): string {
  return `${userName()}@${hostname()}`;
}

/** In a container the user often has only a number and no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.()}`;
  }
}
