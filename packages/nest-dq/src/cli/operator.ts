import { hostname, userInfo } from 'node:os';

/** Returns the operator's name, as recorded with each action: `ann@web-1`. */
export function operator(): string {
  return `${userName()}@${hostname()}`;
}

/** In a container, the user often has no name, only a number. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.()}`;
  }
}
