/** Has a group know a member again after a restart. kafkajs can write its name into the requests, and hands it through nowhere. */
import { KqError } from '../../errors.js';

/** What the types of kafkajs leave out. */
export interface Lookup {
  readonly versions: Readonly<Record<number, { readonly maxVersion: number } | undefined>>;
  /** Gives what makes a request, in the newest version that the broker and kafkajs know. */
  lookupRequest: (apiKey: number, definition: object) => MakeRequest;
}

type MakeRequest = (fields: object) => object;

const JOIN_GROUP = 11;
const JOIN_GROUP_WITH_NAME = 5;
/** JoinGroup, Heartbeat and SyncGroup. */
const NAMED: ReadonlySet<number> = new Set([JOIN_GROUP, 12, 14]);

const named = new WeakSet<Lookup['lookupRequest']>();

/** To be called before each request, as kafkajs looks requests up anew for each connection. Throws `KQ_CONFIG` where the broker is too old. */
export function nameMember(broker: Lookup, groupInstanceId: string): void {
  const { lookupRequest, versions } = broker;
  if (named.has(lookupRequest)) return;
  if ((versions[JOIN_GROUP]?.maxVersion ?? 0) < JOIN_GROUP_WITH_NAME)
    throw new KqError(
      'KQ_CONFIG',
      'the brokers know no `groupInstanceId`: expected Kafka 2.3 or later, or none',
    );
  broker.lookupRequest = (apiKey, definition) => {
    const make = lookupRequest(apiKey, definition);
    return NAMED.has(apiKey) ? (fields) => make({ ...fields, groupInstanceId }) : make;
  };
  named.add(broker.lookupRequest);
}
