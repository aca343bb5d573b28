import type { BeanstalkError } from '../beanstalk/beanstalk-error.js';
import type { Connection, PutOptions } from '../beanstalk/connection.js';
import { UNKNOWN_COPY } from '../location.js';
import type { StoreHealth } from './store-health.js';

const LOG_STOPPED = 'its binlog has stopped';

/** Why a copy was not stored, and whether it may have been all the same. */
export interface PutFailure {
  readonly reason: string;
  /** The place to name in the primary's header; with the id `?` when nobody may delete it there. */
  readonly doubtful?: string;
}

/** Exactly one of the two is given. */
export type PutDone = (failure: PutFailure | undefined, location: string) => void;

/** A server that answers. */
export interface Store {
  readonly connection: Connection;
  readonly health: StoreHealth;
  /** The location of a copy there. */
  readonly locate: (copyId: string) => string;
}

/** Puts one copy. It is stored only if the answer is INSERTED and the log works. */
export function putCopy(store: Store, tube: string, body: Buffer, options: PutOptions, done: PutDone): void {
  const { connection, health, locate } = store;
  const failed = (reason: string, doubtful?: string) =>
    done(doubtful ? { reason, doubtful } : { reason }, '');
  const takeBack = (copyId: string, reason: string) =>
    connection.delete(copyId, (error, reply) =>
      failed(reason, !error && reply === 'DELETED' ? undefined : locate(copyId)),
    );
  if (health.logStopped) return failed(LOG_STOPPED);
  connection.put(tube, body, options, (error, reply) => {
    if (error) {
      if (isRefusal(error)) health.refused(error.code);
      return failed(error.message, error.unknown ? locate(UNKNOWN_COPY) : undefined);
    }
    const { status, id } = reply;
    if (status === 'INSERTED') {
      return health.logStopped ? takeBack(id, LOG_STOPPED) : done(undefined, locate(id));
    }
    health.refused(status);
    if (!health.hasLog) return takeBack(id, status); // out of memory: it would stay buried
    health.doubtLog();
    // The server has it in two places, buried and queued: it surfaces by itself, and beanstalkd (1.12) crashes when it
    // is deleted before ◆.
    failed(status, locate(UNKNOWN_COPY));
  });
}

function isRefusal({ code }: BeanstalkError): boolean {
  return code === 'DRAINING' || code === 'OUT_OF_MEMORY' || code === 'INTERNAL_ERROR';
}
