import { describe, expect, it } from '@jest/globals';
import { embedded, failure } from '../../spec-support/producing.js';
import { DqError } from '../errors.js';

const tubesOf = (count: number) => Array.from({ length: count }, (_, i) => `t${String(i).padStart(3, '0')}`);

describe('a search', () => {
  it('finds the job of a string in hundreds of tubes, as a key and as an id', async () => {
    const world = await embedded(3, 'app.');
    const { producer, inspector } = world.process({ mostIndexed: 100 });
    const tubes = tubesOf(300);
    for (const tube of tubes) await producer.delay(tube, {}, '1h');
    const keyed = await producer.delay('t299', {}, '2h', { key: 'order 42' });
    const again = await producer.delay('t007', {}, '3h', { key: 'order 42' });
    const plain = await producer.delay('t123', {}, '4h');
    await producer.find({ tube: 't123', id: plain.id }); // the list is written by then
    const all = { searched: 300, tubes: 300, more: false, away: [] };
    expect(await inspector.search('order 42')).toEqual({
      jobs: [
        { tube: 't007', id: again.id, key: 'order 42', state: 'waiting', dueAt: again.dueAt },
        { tube: 't299', id: keyed.id, key: 'order 42', state: 'waiting', dueAt: keyed.dueAt },
      ],
      ...all,
    });
    expect(await inspector.search(keyed.id)).toMatchObject({ jobs: [{ tube: 't299', id: keyed.id }] });
    expect(await inspector.search(plain.id)).toEqual({
      jobs: [{ tube: 't123', id: plain.id, state: 'waiting', dueAt: plain.dueAt }],
      ...all,
    });
    expect(await inspector.search('nothing')).toEqual({ jobs: [], ...all });
    expect(await inspector.search('x'.repeat(5_000))).toEqual({ jobs: [], ...all });
  });

  it('shows the state of jobs that are over', async () => {
    const { producer, inspector } = await embedded();
    await producer.delay('t', {}, '1h', { key: 'k' });
    await producer.delay('t', {}, '1h');
    await producer.revoke({ tube: 't', key: 'k' });
    expect(await inspector.search('k')).toMatchObject({ jobs: [{ key: 'k', state: 'revoked' }] });
  });

  it('asks the ledger about each tube a fixed number of times', async () => {
    const world = await embedded(3, 'app.');
    const { producer, inspector } = world.process({ mostIndexed: 100 });
    for (const tube of tubesOf(20)) await producer.delay(tube, {}, '1h', { key: 'k' });
    const asked: string[] = [];
    const { memory } = world;
    const tube = memory.tube.bind(memory);
    memory.tube = (name) => {
      asked.push(name);
      return tube(name);
    };
    expect((await inspector.search('k')).jobs).toHaveLength(20);
    expect(asked).toHaveLength(20);
  });

  it('says which nodes are away, and fails if the ledger does not answer', async () => {
    const world = await embedded();
    const { producer, inspector } = world.process({ mostIndexed: 100 });
    await producer.delay('t', {}, '1h', { key: 'k' });
    await world.cut(1);
    expect(await inspector.search('k')).toMatchObject({ jobs: [{ tube: 't' }], away: ['n1:1'] });
    world.memory.tube = () => {
      throw new DqError('DQ_LEDGER_DOWN', 'no answer');
    };
    expect(await failure(inspector.search('k'))).toMatchObject({ code: 'DQ_LEDGER_DOWN' });
  });

  it('sends the ledger no string that is not an id: a key only as its hash', async () => {
    const world = await embedded();
    const { producer, inspector } = world.process({ mostIndexed: 100 });
    const { id } = await producer.delay('t', {}, '1h', { key: 'alice@example.com' });
    const sent = new Set<unknown>();
    const { memory } = world;
    const tube = memory.tube.bind(memory);
    memory.tube = (name) => {
      const ledger = tube(name);
      const ask: typeof ledger.ask = (verb, requests, context) => {
        for (const request of requests) sent.add(request);
        return ledger.ask(verb, requests, context);
      };
      return Object.assign(Object.create(ledger) as typeof ledger, { ask });
    };
    expect((await inspector.search('alice@example.com')).jobs).toHaveLength(1);
    for (const text of ['alice', 'order-4711', 'a'.repeat(40)]) await inspector.search(text);
    expect(sent).toContain(id);
    expect([...sent].filter((each) => !/^[\w-]{24}$/.test(each as string))).toEqual([]);
  });
});
