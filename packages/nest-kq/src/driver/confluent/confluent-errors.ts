/** Maps errors of librdkafka to ours. */
import type { ConfluentError } from './confluent-api.js';
import { KqError, toError, type KqErrorCode } from '../../errors.js';

/** By code: below -100 librdkafka's, from 1 the protocol's. Anything else means the brokers are away. */
const MEANINGS: Readonly<Record<number, KqErrorCode>> = {
  [-190]: 'KQ_UNKNOWN_TOPIC', // no such partition
  [-188]: 'KQ_UNKNOWN_TOPIC',
  3: 'KQ_UNKNOWN_TOPIC',
  17: 'KQ_UNKNOWN_TOPIC',
  4: 'KQ_TOO_LARGE',
  10: 'KQ_TOO_LARGE',
  18: 'KQ_TOO_LARGE',
  32: 'KQ_BAD_MESSAGE', // a timestamp
  87: 'KQ_BAD_MESSAGE',
  [-181]: 'KQ_REFUSED', // TLS
  [-169]: 'KQ_REFUSED',
  29: 'KQ_REFUSED',
  30: 'KQ_REFUSED',
  31: 'KQ_REFUSED',
  33: 'KQ_REFUSED',
  53: 'KQ_REFUSED',
  58: 'KQ_REFUSED',
  [-144]: 'KQ_TRANSACTION', // another producer has its id
  [-172]: 'KQ_TRANSACTION', // not now
  47: 'KQ_TRANSACTION',
  48: 'KQ_TRANSACTION',
  52: 'KQ_TRANSACTION',
  90: 'KQ_TRANSACTION',
  23: 'KQ_CONFIG',
  37: 'KQ_CONFIG', // of a topic: partitions, replicas, settings, the brokers' policy
  38: 'KQ_CONFIG',
  40: 'KQ_CONFIG',
  44: 'KQ_CONFIG',
  82: 'KQ_CONFIG', // another member has its `groupInstanceId`
  24: 'KQ_CONFIG',
  26: 'KQ_CONFIG',
  76: 'KQ_CODEC',
};

/** The member's generation is over: lost, outdated, illegal, unknown, or being recreated. */
const REBALANCING = [-142, -167, 22, 25, 27];

/** @param what The failed operation, for the message: `cannot store in orders`. */
export function meant(thrown: unknown, what: string, indeterminate = false): KqError {
  if (thrown instanceof KqError) return thrown;
  const cause = toError(thrown);
  const code = MEANINGS[codeOf(cause)] ?? 'KQ_AWAY';
  return new KqError(code, `${what}: ${cause.message}`, {
    cause,
    indeterminate: indeterminate && code === 'KQ_AWAY',
  });
}

export function isRebalancing(error: unknown): boolean {
  return REBALANCING.includes(codeOf(error));
}

export function isFatal(error: unknown): boolean {
  return codeOf(error) === -150 || (error instanceof Error && 'isFatal' in error && error.isFatal === true);
}

/** librdkafka's codes by the message of an event, in the client's spelling or librdkafka's own. */
const EVENTS: readonly (readonly [words: RegExp, code: number])[] = [
  [/authentication failure$/i, -169],
  [/ssl error$/i, -181],
  [/fatal error$/i, -150],
];

/** Restores the code of an event, which the client drops. */
export function ofEvent({ message, code }: ConfluentError): ConfluentError {
  const [, known = code] = EVENTS.find(([words]) => words.test(message)) ?? [];
  return Object.assign(new Error(message), { code: known });
}

/** Removes the words the client puts before an error thrown by a callback of ours. */
export function asThrown(error: Error): Error {
  if (!(error instanceof KqError)) return error;
  const { code, message } = error;
  return new KqError(code, message.slice(message.indexOf(code) + code.length + 2));
}

/** It exists already. */
export function isThere(error: unknown): boolean {
  return codeOf(error) === 36;
}

/** There is no such group. */
export function isNoGroup(error: ConfluentError): boolean {
  return error.code === 69;
}

/** Permission for a group is missing. */
export function isOfGroup(error: unknown): boolean {
  return codeOf(error) === 30;
}

/** The partition has nothing at this offset. */
export function isOutOfRange(error: unknown): boolean {
  return [1, -140].includes(codeOf(error));
}

/** Returns the error of a call whose member has left in the meantime. */
export function outdated(): ConfluentError {
  return Object.assign(new Error('the member has left its group'), { code: -167 });
}

/** It wasn't sent because another one had failed. */
export function isPurged(error: unknown): boolean {
  return [-152, -151].includes(codeOf(error instanceof KqError ? error.cause : error));
}

function codeOf(error: unknown): number {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : 0;
}
