// What belongs to a transaction is seen at once, or never.
import { expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { everyLog, failing, message } from './log-facts.js';

everyLog((log) => {
  const transactional = () => log.producer({ transactionalId: log.topic });
  const here = (value: string) => message(value, { partition: 0 });

  it('shows its messages after the commit, and none before', async () => {
    const member = await log.join();
    const other = await log.topicOf(1);
    const otherMember = await log.join({ topics: [other], group: `${log.group}.other` });
    const transaction = await transactional().transaction();
    await expect(transaction.send(log.topic, [here('a'), here('b')])).resolves.toEqual([
      { partition: 0, offset: 0n },
      { partition: 0, offset: 1n },
    ]);
    await transaction.send(other, [message('c')]);
    await log.send(here('d'), message('e', { partition: 1 }));
    await member.receives(1);
    expect(member.values).toEqual(['e']);
    await transaction.commit();
    await member.receives(4);
    expect(member.values).toEqual(['e', 'a', 'b', 'd']);
    await otherMember.receives(1);
  });

  it('never shows its messages after an abort, and leaves a gap', async () => {
    const member = await log.join();
    const producer = transactional();
    const transaction = await producer.transaction();
    await transaction.send(log.topic, [here('a'), here('b')]);
    await transaction.abort();
    await transaction.abort();
    await expect(transaction.commit()).rejects.toEqual(failing('KQ_TRANSACTION'));
    await log.send(here('c'));
    await member.receives(1);
    expect(member.messages).toMatchObject([{ offset: 3n }]); // after two messages and the mark of the abort
    expect(member.values).toEqual(['c']);
  });

  it('tells a gap at the end of a partition, too', async () => {
    const member = await log.join();
    const producer = transactional();
    for (const end of ['commit', 'abort'] as const) {
      const transaction = await producer.transaction();
      await transaction.send(log.topic, [here(end)]);
      await transaction[end]();
    }
    await eventually('the member knows that nothing is left', () => {
      const last = member.batches.at(-1);
      return last?.next === 4n && last.end === 4n;
    });
    expect(member.values).toEqual(['commit']);
  });

  it('commits offsets of a group with its messages', async () => {
    const offsets = (offset: bigint) => [{ topic: log.topic, partition: 1, offset }];
    const producer = transactional();
    const aborted = await producer.transaction();
    await aborted.sendOffsets(log.group, offsets(5n));
    await aborted.abort();
    await expect(log.committed()).resolves.toEqual([undefined, undefined, undefined, undefined]);
    const committed = await producer.transaction();
    await committed.send(log.topic, [here('a')]);
    await committed.sendOffsets(log.group, offsets(7n));
    await committed.commit();
    await eventually('the group has the offset', async () => (await log.committed())[1] === 7n);
  });

  it('begins one after the other', async () => {
    const producer = transactional();
    const values: string[] = [];
    const one = async (value: string) => {
      const transaction = await producer.transaction();
      values.push(`begin ${value}`);
      await transaction.send(log.topic, [here(value)]);
      values.push(`commit ${value}`);
      await transaction.commit();
    };
    await Promise.all(['a', 'b', 'c'].map(one));
    expect(values).toEqual(['a', 'b', 'c'].flatMap((value) => [`begin ${value}`, `commit ${value}`]));
    const member = await log.join();
    await member.receives(3);
    expect(member.values).toEqual(['a', 'b', 'c']);
  });

  it('can only be aborted once a message of it was not stored', async () => {
    const producer = transactional();
    const failed = await producer.transaction();
    await failed.send(log.topic, [here('a')]);
    await expect(failed.send(log.topic, [here('b'), here('x'.repeat(1_048_588))])).rejects.toEqual(
      failing('KQ_TOO_LARGE'),
    );
    await expect(failed.commit()).rejects.toEqual(failing('KQ_TRANSACTION'));
    await failed.abort();
    const next = await producer.transaction();
    await next.send(log.topic, [here('c')]);
    await next.commit();
    const member = await log.join();
    await member.receives(1);
    expect(member.values).toEqual(['c']);
  });

  it('is ended by another producer of its id', async () => {
    const before = transactional();
    const zombie = await before.transaction();
    await zombie.send(log.topic, [here('a')]);
    const after = transactional();
    const transaction = await after.transaction();
    await transaction.send(log.topic, [here('b')]);
    await transaction.commit();
    await expect(zombie.commit()).rejects.toEqual(failing('KQ_TRANSACTION'));
    await zombie.abort();
    const member = await log.join();
    await member.receives(1);
    expect(member.values).toEqual(['b']);
  });

  it('is aborted when its producer closes', async () => {
    const producer = transactional();
    const transaction = await producer.transaction();
    await transaction.send(log.topic, [here('a')]);
    await producer.close();
    await expect(transaction.commit()).rejects.toEqual(failing('KQ_TRANSACTION'));
    await expect(producer.transaction()).rejects.toEqual(failing('KQ_CLOSED'));
    await log.send(here('b'));
    const member = await log.join();
    await member.receives(1);
    expect(member.values).toEqual(['b']);
  });

  it('needs an id', async () => {
    await expect(log.producer().transaction()).rejects.toEqual(failing('KQ_CONFIG'));
  });
});
