import { expect, it } from '@jest/globals';
import { nameMember, type Lookup } from './static-member.js';

function broker(maxVersion: number): Lookup {
  return {
    versions: { 11: { maxVersion } },
    lookupRequest: (apiKey) => (fields) => ({ apiKey, ...fields }),
  };
}

it('names the member in the requests by which a group knows it, once, and in no other', () => {
  const named = broker(5);
  nameMember(named, 'one');
  nameMember(named, 'one');
  const make = (apiKey: number) => named.lookupRequest(apiKey, {})({ memberId: 'm' });
  expect([11, 12, 14, 8].map(make)).toEqual([
    { apiKey: 11, memberId: 'm', groupInstanceId: 'one' },
    { apiKey: 12, memberId: 'm', groupInstanceId: 'one' },
    { apiKey: 14, memberId: 'm', groupInstanceId: 'one' },
    { apiKey: 8, memberId: 'm' },
  ]);
});

it('refuses brokers that cannot know it', () => {
  expect(() => nameMember(broker(4), 'one')).toThrow(
    /^KQ_CONFIG: the brokers do not support `groupInstanceId`: expected Kafka 2.3 or later, or no such option$/,
  );
});
