/** The replies that each command expects, as the values that its caller gets. */
import type { Reply, ReplyWord } from './codec/reply-parser.js';
import { parseNames, parseStats, type Stats } from './codec/yaml.js';

/** Undefined: this reply does not belong to the command. */
export type Answer<T> = (reply: Reply) => T | undefined;

export interface PutReply {
  /** Only INSERTED is a stored copy. BURIED: the server had no memory to queue the job. */
  readonly status: 'INSERTED' | 'BURIED';
  readonly id: string;
}

/** A job as the server gave it. After a peek it stays where it is. */
export interface Reserved {
  readonly id: string;
  readonly body: Buffer;
}

/** One of these words, alone. */
function word<W extends ReplyWord>(...words: W[]): Answer<W> {
  return ({ word, value }) => (value === '' && words.includes(word as W) ? (word as W) : undefined);
}

/** A job under this word, or one of the other words. */
function job<W extends ReplyWord>(found: ReplyWord, ...others: W[]): Answer<Reserved | W> {
  const other = word(...others);
  return (reply) => (reply.word === found ? { id: reply.value, body: reply.body } : other(reply));
}

const stats: Answer<Stats> = (reply) => (reply.word === 'OK' ? parseStats(reply.body) : undefined);

/** Those of a server. What else we read of them are numbers by which it is only judged itself. */
const serverStats: Answer<Stats> = (reply) => {
  const found = stats(reply);
  return found && isInstance(found['id']) && isSize(found['max-job-size']) ? found : undefined;
};

/** Undefined, as it does not tell; or a text that every location of its copies has. */
function isInstance(id: string | undefined): boolean {
  return id === undefined || /^\w{1,16}$/.test(id);
}

function isSize(bytes: string | undefined): boolean {
  return bytes === undefined || /^[1-9]\d{0,9}$/.test(bytes);
}

const statsOrNotFound: Answer<Stats | 'NOT_FOUND'> = (reply) =>
  reply.word === 'NOT_FOUND' ? 'NOT_FOUND' : stats(reply);

export const answers = {
  put: ((reply) =>
    (reply.word === 'INSERTED' || reply.word === 'BURIED') && reply.value !== ''
      ? { status: reply.word, id: reply.value }
      : undefined) satisfies Answer<PutReply>,
  use:
    (tube: string): Answer<string> =>
    (reply) =>
      reply.word === 'USING' && reply.value === tube ? tube : undefined,

  reserveWithTimeout: job('RESERVED', 'TIMED_OUT', 'DEADLINE_SOON'),
  reserveJob: job('RESERVED', 'NOT_FOUND'),
  peek: job('FOUND', 'NOT_FOUND'),

  delete: word('DELETED', 'NOT_FOUND'),
  release: word('RELEASED', 'BURIED', 'NOT_FOUND'),
  bury: word('BURIED', 'NOT_FOUND'),
  touch: word('TOUCHED', 'NOT_FOUND'),
  kickJob: word('KICKED', 'NOT_FOUND'),

  watch: ((reply) => (reply.word === 'WATCHING' ? Number(reply.value) : undefined)) satisfies Answer<number>,

  stats: serverStats,
  statsOrNotFound,
  names: ((reply) => (reply.word === 'OK' ? parseNames(reply.body) : undefined)) satisfies Answer<string[]>,
};
