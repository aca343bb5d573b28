import type { BeanstalkError } from '../beanstalk/beanstalk-error.js';
import type { Connection, PutOptions, PutReply } from '../beanstalk/connection.js';
import { UNKNOWN_COPY, formatLocation } from '../location.js';
import { LOG_STOPPED, type StoreHealth } from './store-health.js';

/** Why a copy was not stored, and whether it may have been all the same. */
export interface PutFailure {
  readonly reason: string;
  /** The place to name in the primary's header; with the id `?` when nobody may delete it there. */
  readonly doubtful?: string;
}

/** A copy for a node, which asks for its text and its numbers when it can send them. */
export interface CopyToPut {
  readonly tube: string;
  /** ASCII, in front of the payload. */
  readonly head: string;
  readonly payload: Uint8Array;
  readonly options: PutOptions;
  /** Stored at `location`, unless there is a failure. */
  done(failure: PutFailure | undefined, location: string): void;
}

/** A server that answers. */
export interface Store {
  readonly connection: Connection;
  readonly health: StoreHealth;
  readonly endpoint: string;
  readonly instance: string;
}

/** Puts one copy. It is stored only if the answer is INSERTED and the log works. */
export function putCopy(store: Store, copy: CopyToPut): void {
  const { connection, health, endpoint, instance } = store;
  const locate = (copyId: string) => formatLocation(endpoint, instance, copyId);
  const failed = (reason: string, doubtful?: string) =>
    copy.done(doubtful ? { reason, doubtful } : { reason }, '');
  const takeBack = (copyId: string, reason: string) =>
    connection.delete(copyId, (error, reply) =>
      failed(reason, !error && reply === 'DELETED' ? undefined : locate(copyId)),
    );
  if (health.logStopped) return failed(LOG_STOPPED);
  const answered = (error: BeanstalkError | undefined, reply: PutReply) => {
    if (error) {
      if (isRefusal(error)) health.refused(error.code);
      return failed(error.message, error.unknown ? locate(UNKNOWN_COPY) : undefined);
    }
    const { status, id } = reply;
    if (status === 'INSERTED') {
      return health.logStopped ? takeBack(id, LOG_STOPPED) : copy.done(undefined, locate(id));
    }
    health.refused(status);
    if (!health.hasLog) return takeBack(id, status); // out of memory: it would stay buried
    health.doubtLog();
    // The server has it in two places, buried and queued: it surfaces by itself, and beanstalkd (1.12) crashes when it
    // is deleted before ◆.
    failed(status, locate(UNKNOWN_COPY));
  };
  connection.put(copy.tube, copy.payload, copy.options, answered, copy.head);
}

function isRefusal({ code }: BeanstalkError): boolean {
  return code === 'DRAINING' || code === 'OUT_OF_MEMORY' || code === 'INTERNAL_ERROR';
}
