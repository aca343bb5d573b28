import type { BeanstalkError } from '../beanstalk/codec/beanstalk-error.js';
import type { Connection, PutOptions, PutReply } from '../beanstalk/connection.js';
import { UNKNOWN_COPY } from '../copies/location.js';
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
  /** The ASCII with which it begins. */
  readonly front: string;
  /** What follows. */
  readonly rest: Uint8Array;
  readonly options: PutOptions;
  /** Stored at `location`, unless there is a failure. */
  done(failure: PutFailure | undefined, location: string): void;
}

/** A server that answers. */
export interface Store {
  readonly connection: Connection;
  readonly health: StoreHealth;
  /** The server's `id`. */
  readonly instance: string;
  /** What the locations of its copies begin with. */
  readonly locationStart: string;
}

/** Puts one copy. It is stored only if the answer is INSERTED, the log works, and no other node is the same server ◆. */
export function putCopy(store: Store, copy: CopyToPut): void {
  const { connection, health } = store;
  const { unfit } = health;
  if (unfit !== undefined) return copy.done({ reason: unfit }, '');
  connection.put(
    copy.tube,
    copy.rest,
    copy.options,
    (error, reply) => {
      if (error) failed(store, copy, error);
      else if (reply.status !== 'INSERTED') notInserted(store, copy, reply);
      else if (health.logStopped) takeBack(store, copy, reply.id, LOG_STOPPED);
      else copy.done(undefined, locate(store, reply.id));
    },
    copy.front,
  );
}

function failed(store: Store, copy: CopyToPut, error: BeanstalkError): void {
  if (isRefusal(error)) store.health.refused(error.code);
  const reason = error.message;
  copy.done(error.unknown ? { reason, doubtful: locate(store, UNKNOWN_COPY) } : { reason }, '');
}

function notInserted(store: Store, copy: CopyToPut, { status, id }: PutReply): void {
  const { health } = store;
  health.refused(status);
  if (!health.hasLog) return takeBack(store, copy, id, status); // out of memory: it would stay buried
  health.doubtLog();
  // The server has it in two places, buried and queued: it surfaces by itself, and beanstalkd (1.12) crashes when it
  // is deleted before ◆.
  copy.done({ reason: status, doubtful: locate(store, UNKNOWN_COPY) }, '');
}

function takeBack(store: Store, copy: CopyToPut, copyId: string, reason: string): void {
  store.connection.delete(copyId, (error, reply) => {
    const deleted = !error && reply === 'DELETED';
    copy.done(deleted ? { reason } : { reason, doubtful: locate(store, copyId) }, '');
  });
}

function locate({ locationStart }: Store, copyId: string): string {
  return locationStart + copyId;
}

function isRefusal({ code }: BeanstalkError): boolean {
  return code === 'DRAINING' || code === 'OUT_OF_MEMORY' || code === 'INTERNAL_ERROR';
}
