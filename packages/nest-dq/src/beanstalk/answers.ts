/** For each command the replies that it expects, as the values its caller gets. */
import type { Reply, ReplyWord } from './codec/reply-parser.js';
import { parseNames, parseStats, type Stats } from './codec/yaml.js';

/** Undefined: this is no answer to the command. */
export type Answer<T> = (reply: Reply) => T | undefined;

export interface PutReply {
  /** Only INSERTED is a stored copy; BURIED means that the server had no memory to queue the job. */
  readonly status: 'INSERTED' | 'BURIED';
  readonly id: string;
}

/** A job as the server gave it. */
export interface Reserved {
  readonly id: string;
  readonly body: Buffer;
}

/** A job as a peek shows it; it stays where it is. */
export type Found = Reserved;

const job = (reply: Reply): Reserved => ({ id: reply.value, body: reply.body });

/** A command that is answered by one of these words, alone. */
function word<W extends ReplyWord>(first: W, second: W = first, third: W = first): Answer<W> {
  return ({ word, value }) =>
    (word === first || word === second || word === third) && value === '' ? (word as W) : undefined;
}

const found: Answer<Found | 'NOT_FOUND'> = (reply) =>
  reply.word === 'FOUND' ? job(reply) : reply.word === 'NOT_FOUND' ? 'NOT_FOUND' : undefined;

const stats: Answer<Stats> = (reply) => (reply.word === 'OK' ? parseStats(reply.body) : undefined);

const statsOrNotFound: Answer<Stats | 'NOT_FOUND'> = (reply) =>
  reply.word === 'NOT_FOUND' ? 'NOT_FOUND' : stats(reply);

const tubes: Answer<string[]> = (reply) => (reply.word === 'OK' ? parseNames(reply.body) : undefined);

export const answers = {
  put: ((reply) =>
    (reply.word === 'INSERTED' || reply.word === 'BURIED') && reply.value !== ''
      ? { status: reply.word, id: reply.value }
      : undefined) satisfies Answer<PutReply>,

  use:
    (tube: string): Answer<string> =>
    (reply) =>
      reply.word === 'USING' && reply.value === tube ? tube : undefined,

  reserve: ((reply) =>
    reply.word === 'RESERVED'
      ? job(reply)
      : reply.word === 'DEADLINE_SOON'
        ? 'DEADLINE_SOON'
        : undefined) satisfies Answer<Reserved | 'DEADLINE_SOON'>,
  reserveWithTimeout: ((reply) =>
    reply.word === 'RESERVED'
      ? job(reply)
      : reply.word === 'TIMED_OUT' || reply.word === 'DEADLINE_SOON'
        ? reply.word
        : undefined) satisfies Answer<Reserved | 'TIMED_OUT' | 'DEADLINE_SOON'>,
  reserveJob: ((reply) =>
    reply.word === 'RESERVED'
      ? job(reply)
      : reply.word === 'NOT_FOUND'
        ? 'NOT_FOUND'
        : undefined) satisfies Answer<Reserved | 'NOT_FOUND'>,

  delete: word('DELETED', 'NOT_FOUND'),
  release: word('RELEASED', 'BURIED', 'NOT_FOUND'),
  bury: word('BURIED', 'NOT_FOUND'),
  touch: word('TOUCHED', 'NOT_FOUND'),

  watch: ((reply) => (reply.word === 'WATCHING' ? Number(reply.value) : undefined)) satisfies Answer<number>,

  peek: found,

  kick: ((reply) =>
    reply.word === 'KICKED' && reply.value !== '' ? Number(reply.value) : undefined) satisfies Answer<number>,
  kickJob: word('KICKED', 'NOT_FOUND'),
  pauseTube: word('PAUSED', 'NOT_FOUND'),

  stats,
  statsOrNotFound,
  tubes,
  tubeUsed: ((reply) => (reply.word === 'USING' ? reply.value : undefined)) satisfies Answer<string>,

  /** None comes: the server closes the connection. */
  quit: (() => undefined) satisfies Answer<never>,
};
