import { hostname, userInfo } from 'node:os';

/** Who acts, as others are told: `ann@web-1`. */
export function operator(): string {
  return `${userName()}@${hostname()}`;
}

/** In a container the user often has a number only, and no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.()}`;
  }
}
