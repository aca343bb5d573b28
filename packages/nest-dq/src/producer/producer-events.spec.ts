import { describe, expect, it } from '@jest/globals';
import { embedded, failure } from '../../spec-support/producing.js';

describe('the events of a producer', () => {
  it('report what was scheduled: each receipt once, and nothing that failed or was kept', async () => {
    const { producer, events, after, cut } = await embedded(3, 'app.');
    const scheduled = events.collect('scheduled');
    const plain = await after(0, producer.delay('t', { n: 1 }, '1h'));
    const keyed = await after(0, producer.delay('t', { n: 2 }, '1h', { key: 'k' }));
    await after(0, producer.delay('t', { n: 3 }, '2h', { key: 'k', onDuplicate: 'keep' }));
    const [many] = await after(0, producer.addMany('t', [{ payload: 1, delay: '1h' }]));
    expect(scheduled).toEqual([plain, keyed, many].map((receipt) => ({ receipt })));
    await cut(0, 1);
    await failure(after(3_000, producer.delay('t', {}, '1h')));
    expect(scheduled).toHaveLength(3);
  });

  it('report what was revoked, by the string of the receipt', async () => {
    const { producer, events, after } = await embedded(3, 'app.');
    const revoked = events.collect('revoked');
    const plain = await after(0, producer.delay('t', {}, '1h'));
    await after(0, producer.revoke(plain));
    expect(revoked).toEqual([{ id: plain.id, ref: plain.ref, tube: 't' }]);
  });

  it('report what was revoked by key, with a string that finds it', async () => {
    const { producer, events, after } = await embedded(3, 'app.');
    const revoked = events.collect('revoked');
    const keyed = await after(0, producer.delay('t', {}, '1h', { key: 'k' }));
    await after(0, producer.revoke({ tube: 't', key: 'k' }));
    expect(revoked).toEqual([{ id: keyed.id, ref: expect.any(String), tube: 't', key: 'k' }]);
    expect(await after(0, producer.find(revoked[0]!.ref!))).toMatchObject({ state: 'revoked', id: keyed.id });
  });

  it('report no revoke that came too late', async () => {
    const { producer, events, after, copies, run } = await embedded();
    const revoked = events.collect('revoked');
    const receipt = await after(0, producer.now('t', {}));
    const begun = await run((await copies())[0]!);
    expect(await after(0, producer.revoke(receipt))).toBe('running');
    await begun.finish('done');
    expect(await after(0, producer.revoke(receipt))).not.toBe('revoked');
    expect(revoked).toEqual([]);
  });
});
