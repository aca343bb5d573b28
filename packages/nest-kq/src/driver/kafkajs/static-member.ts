/** Makes a group recognize a member after a restart. kafkajs can encode its name in requests, but has no option for it. */
import { KqError } from '../../errors.js';

/** Missing from kafkajs' types. */
export interface Lookup {
  readonly versions: Readonly<Record<number, { readonly maxVersion: number } | undefined>>;
  /** Returns the request encoder in the newest version known to the broker and kafkajs. */
  lookupRequest: (apiKey: number, definition: object) => MakeRequest;
}

type MakeRequest = (fields: object) => object;

const JOIN_GROUP = 11;
const JOIN_GROUP_WITH_NAME = 5;
/** JoinGroup, Heartbeat and SyncGroup. */
const NAMED: ReadonlySet<number> = new Set([JOIN_GROUP, 12, 14]);

const named = new WeakSet<Lookup['lookupRequest']>();

/**
 * Call before each request, since kafkajs looks up requests again for each connection. Throws `KQ_CONFIG` if the broker is too
 * old.
 */
export function nameMember(broker: Lookup, groupInstanceId: string): void {
  const { lookupRequest, versions } = broker;
  if (named.has(lookupRequest)) return;
  if ((versions[JOIN_GROUP]?.maxVersion ?? 0) < JOIN_GROUP_WITH_NAME)
    throw new KqError(
      'KQ_CONFIG',
      'the brokers do not support `groupInstanceId`: expected Kafka 2.3 or later, or no such option',
    );
  broker.lookupRequest = (apiKey, definition) => {
    const make = lookupRequest(apiKey, definition);
    return NAMED.has(apiKey) ? (fields) => make({ ...fields, groupInstanceId }) : make;
  };
  named.add(broker.lookupRequest);
}
