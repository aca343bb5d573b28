import { once } from 'node:events';
import { lstatSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';

/** Takes away the rights of all but this user. */
const ONLY_THIS_USER = 0o177;

/**
 * Listens on a unix socket that only this user can reach. A file that a dead process has left there is replaced; one of a
 * process that lives, and one that is no socket, is left alone: EADDRINUSE.
 */
export async function listenAt(server: Server, path: string): Promise<void> {
  try {
    await bind(server, path);
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE' || !(await removeIfLeft(path))) throw error;
    await bind(server, path);
  }
}

/** The file is made within the call of `listen`, so nobody else can reach it in between. */
function bind(server: Server, path: string): Promise<unknown> {
  const before = process.umask(ONLY_THIS_USER);
  try {
    server.listen({ path });
  } finally {
    process.umask(before);
  }
  return once(server, 'listening');
}

/** True: nothing is there now. */
async function removeIfLeft(path: string): Promise<boolean> {
  const found = idOf(path);
  if (found === undefined || !(await refuses(path))) return false;
  // The same file in the same turn, as another process may have replaced it meanwhile.
  if (idOf(path) !== found) return false;
  unlinkSync(path);
  return true;
}

/** Of a socket's file; undefined: it is something else, or gone. */
function idOf(path: string): number | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isSocket() ? stats.ino : undefined;
}

/** Whether nobody listens there. */
async function refuses(path: string): Promise<boolean> {
  const socket = connect({ path });
  try {
    await once(socket, 'connect');
    return false;
  } catch (error) {
    return codeOf(error) === 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code;
}
