/** Maps errors of kafkajs to ours. */
import { KqError, type KqErrorCode } from '../../errors.js';

/** Keyed by protocol error type or by class; anything else means the brokers are away. */
const MEANINGS: Readonly<Record<string, KqErrorCode>> = {
  UNKNOWN_TOPIC_OR_PARTITION: 'KQ_UNKNOWN_TOPIC',
  INVALID_TOPIC_EXCEPTION: 'KQ_UNKNOWN_TOPIC',
  MESSAGE_TOO_LARGE: 'KQ_TOO_LARGE',
  RECORD_LIST_TOO_LARGE: 'KQ_TOO_LARGE',
  INVALID_TIMESTAMP: 'KQ_BAD_MESSAGE',
  INVALID_RECORD: 'KQ_BAD_MESSAGE',
  TOPIC_AUTHORIZATION_FAILED: 'KQ_REFUSED',
  GROUP_AUTHORIZATION_FAILED: 'KQ_REFUSED',
  CLUSTER_AUTHORIZATION_FAILED: 'KQ_REFUSED',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'KQ_REFUSED',
  SASL_AUTHENTICATION_FAILED: 'KQ_REFUSED',
  UNSUPPORTED_SASL_MECHANISM: 'KQ_REFUSED',
  KafkaJSSASLAuthenticationError: 'KQ_REFUSED',
  // Node's codes for an untrusted certificate.
  CERT_HAS_EXPIRED: 'KQ_REFUSED',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'KQ_REFUSED',
  SELF_SIGNED_CERT_IN_CHAIN: 'KQ_REFUSED',
  UNABLE_TO_GET_ISSUER_CERT: 'KQ_REFUSED',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'KQ_REFUSED',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'KQ_REFUSED',
  ERR_TLS_CERT_ALTNAME_INVALID: 'KQ_REFUSED',
  CERT_SIGNATURE_FAILURE: 'KQ_REFUSED',
  INVALID_PRODUCER_EPOCH: 'KQ_TRANSACTION',
  INVALID_TXN_STATE: 'KQ_TRANSACTION',
  TRANSACTION_COORDINATOR_FENCED: 'KQ_TRANSACTION',
  INVALID_CONFIG: 'KQ_CONFIG',
  INVALID_PARTITIONS: 'KQ_CONFIG',
  INVALID_REPLICATION_FACTOR: 'KQ_CONFIG',
  INVALID_GROUP_ID: 'KQ_CONFIG',
  INVALID_SESSION_TIMEOUT: 'KQ_CONFIG',
  INCONSISTENT_GROUP_PROTOCOL: 'KQ_CONFIG',
  POLICY_VIOLATION: 'KQ_CONFIG',
  FENCED_INSTANCE_ID: 'KQ_CONFIG',
  NON_EMPTY_GROUP: 'KQ_GROUP_BUSY',
  UNSUPPORTED_COMPRESSION_TYPE: 'KQ_CODEC',
  KafkaJSNotImplemented: 'KQ_CODEC',
};

const UNANSWERED = 'KafkaJSRequestTimeoutError';
const UNREACHED = ['KafkaJSConnectionError', 'KafkaJSConnectionClosedError', UNANSWERED];

/** The member's generation is over; its group is creating a new one. */
const REBALANCING = [
  'REBALANCE_IN_PROGRESS',
  'ILLEGAL_GENERATION',
  'UNKNOWN_MEMBER_ID',
  'NOT_COORDINATOR_FOR_GROUP',
];

/**
 * @param what The failed operation, for the message: `cannot store in orders`.
 * @param details For `KQ_AWAY`: whether it may have been done, and the reason if the error has none.
 */
export function meant(
  error: unknown,
  what: string,
  { indeterminate = false, away = wordsOf(error) } = {},
): KqError {
  for (const each of chainOf(error)) {
    if (each instanceof KqError) return each;
    const code = namesOf(each)
      .filter((name) => Object.hasOwn(MEANINGS, name))
      .map((name) => MEANINGS[name])[0];
    if (code) return new KqError(code, `${what}: ${wordsOf(each)}`, { cause: error });
  }
  return new KqError('KQ_AWAY', `${what}: ${away}`, { cause: error, indeterminate });
}

/** A connected broker didn't answer in time. */
export function isUnanswered(error: unknown): error is Error {
  return error instanceof Error && error.name === UNANSWERED;
}

/** kafkajs couldn't reach a broker. */
export function isUnreached(error: unknown): error is Error {
  return error instanceof Error && UNREACHED.includes(error.name);
}

export function isRebalancing(error: unknown): boolean {
  return hasType(error, REBALANCING);
}

/** The group is rebalancing and waits for this member. */
export function isSharingOut(error: unknown): boolean {
  return hasType(error, ['REBALANCE_IN_PROGRESS']);
}

/** The group has continued without this member. */
export function isExpelled(error: unknown): boolean {
  return hasType(error, ['UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION', 'FENCED_INSTANCE_ID']);
}

/** The sender of offsets is no longer the member it was. */
export function isFenced(error: unknown): boolean {
  return isExpelled(error) || isSharingOut(error);
}

/** For the brokers the transaction is over, or another producer has its id. */
export function isOver(error: unknown): boolean {
  return hasType(error, ['INVALID_PRODUCER_EPOCH', 'INVALID_TXN_STATE', 'TRANSACTION_COORDINATOR_FENCED']);
}

/** The partition has nothing at this offset. */
export function isOutOfRange(error: unknown): boolean {
  return hasType(error, ['OFFSET_OUT_OF_RANGE']);
}

/** The brokers are still ending the previous transaction, or a group is moving to another broker. */
export function isPassing(error: unknown): boolean {
  return hasType(error, [
    'CONCURRENT_TRANSACTIONS',
    'GROUP_LOAD_IN_PROGRESS',
    'GROUP_COORDINATOR_NOT_AVAILABLE',
    'NOT_COORDINATOR_FOR_GROUP',
  ]);
}

function hasType(error: unknown, types: readonly string[]): boolean {
  return chainOf(error).some((each) => namesOf(each).some((name) => types.includes(name)));
}

/** Returns the error, its causes and the errors it aggregates. */
function chainOf(error: unknown): unknown[] {
  if (!(error instanceof Error)) return [error];
  const inner = 'errors' in error && Array.isArray(error.errors) ? error.errors : [];
  const cause = error.cause === undefined || error.cause === error ? [] : chainOf(error.cause);
  return [error, ...inner.flatMap(chainOf), ...cause];
}

function namesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const type = 'type' in error ? error.type : undefined;
  const code = 'code' in error ? error.code : undefined;
  return [type, code, error.name].filter((name) => typeof name === 'string');
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
