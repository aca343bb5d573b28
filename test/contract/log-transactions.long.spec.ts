// All messages of a transaction become visible together, or never.
import { describe, expect, it } from '@jest/globals';
import { MemberLost, type LogTransaction } from 'nest-kq/src/driver/driver.js';
import { KqError } from 'nest-kq/src/errors.js';
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

  it('asks the partitioner of its producer', async () => {
    const producer = log.producer({ transactionalId: log.topic, partitioner: () => 3 });
    const transaction = await producer.transaction();
    await expect(transaction.send(log.topic, [message('a')])).resolves.toEqual([
      { partition: 3, offset: 0n },
    ]);
    await transaction.commit();
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

  it('never shows what one producer has aborted before and after a commit, nor what is longer than a fetch', async () => {
    const producer = transactional();
    const end = async (how: 'commit' | 'abort', ...values: readonly string[]) => {
      const transaction = await producer.transaction();
      for (const value of values) await transaction.send(log.topic, [here(value)]);
      await transaction[how]();
    };
    await end('abort', 'a', 'b');
    await end('commit', 'c');
    await end('abort', 'd');
    await end('abort', ...Array.from({ length: 20 }, () => 'x'.repeat(2_000)));
    await log.send(here('e'));
    const member = await log.join({ fetchBytes: () => 10_000 });
    await member.receives(2);
    expect(member.values).toEqual(['c', 'e']);
  });

  it('reports a gap at the end of a partition, too', async () => {
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

  describe('with offsets of a member', () => {
    const offsets = (offset: bigint) => [{ topic: log.topic, partition: 1, offset }];

    /** A transaction with offsets of a member. A group may rebalance at any time: then it starts over. */
    async function withOffsets(
      producer: ReturnType<typeof transactional>,
      member: Awaited<ReturnType<typeof log.join>>,
      sent: () => ReturnType<typeof offsets>,
      before?: (transaction: LogTransaction) => Promise<unknown>,
    ): Promise<LogTransaction> {
      for (;;) {
        await eventually('the member is in its group', () => member.isInGroup);
        const transaction = await producer.transaction();
        await before?.(transaction);
        try {
          await transaction.sendOffsets(member.identity, sent());
          return transaction;
        } catch (error) {
          await transaction.abort();
          if (!(error instanceof MemberLost)) throw error;
        }
      }
    }

    it('commits them with its messages, or neither', async () => {
      const member = await log.join();
      const producer = transactional();
      const aborted = await withOffsets(producer, member, () => offsets(5n));
      await aborted.abort();
      await expect(log.committed()).resolves.toEqual([undefined, undefined, undefined, undefined]);
      const committed = await withOffsets(
        producer,
        member,
        () => offsets(7n),
        (transaction) => transaction.send(log.topic, [here('a')]),
      );
      await committed.commit();
      await eventually('the group has the offset', async () => (await log.committed())[1] === 7n);
    });

    it('refuses those of a member that has left, and shows none of its messages', async () => {
      const left = await log.join();
      const { identity } = left;
      await left.stop();
      const producer = transactional();
      const zombie = await producer.transaction();
      await zombie.send(log.topic, [here('a')]);
      await expect(zombie.sendOffsets(identity, offsets(5n))).rejects.toEqual(failing('KQ_TRANSACTION'));
      await expect(zombie.commit()).rejects.toEqual(failing('KQ_TRANSACTION'));
      await zombie.abort();
      await log.send(here('b'));
      const member = await log.join();
      await member.receives(1);
      expect(member.values).toEqual(['b']);
      await expect(log.committed()).resolves.toEqual([undefined, undefined, undefined, undefined]);
    });

    it('refuses those of a generation that is over', async () => {
      const member = await log.join();
      const before = member.identity;
      const other = await log.join();
      await Promise.all([member.has(2), other.has(2)]);
      const producer = transactional();
      const zombie = await producer.transaction();
      await expect(zombie.sendOffsets(before, offsets(5n))).rejects.toEqual(failing('KQ_TRANSACTION'));
      await zombie.abort();
      let place = member.assignment[0]!;
      const next = await withOffsets(producer, member, () => [
        { ...(place = member.assignment[0]!), offset: 3n },
      ]);
      await next.commit();
      await eventually(
        'the group has the offset',
        async () => (await log.committed())[place.partition] === 3n,
      );
    });

    it('lets the new owner of a partition begin only once it is known what is committed', async () => {
      await log.send(here('a'), here('b'));
      const first = await log.join();
      await first.receives(2);
      const results = await log.topicOf(1);
      const transaction = await withOffsets(
        transactional(),
        first,
        () => [{ topic: log.topic, partition: 0, offset: 1n }],
        (begun) => begun.send(results, [message('result')]),
      );
      await first.stop();
      const second = log.member();
      const starting = second.start();
      await eventually('the other one joins', () => second.rebalances.length > 0);
      const committing = transaction.commit().then(
        () => 'committed',
        () => transaction.abort().then(() => 'aborted'),
      );
      const ended = await committing;
      await starting;
      const expected = ended === 'committed' ? ['b'] : ['a', 'b'];
      await second.receives(expected.length);
      expect(second.values).toEqual(expected);
    });

    it('delivers all uncommitted messages again to a member that rejoins', async () => {
      await log.send(here('a'), here('b'));
      const member = await log.join();
      await member.receives(2);
      const sent = () => [{ topic: log.topic, partition: 0, offset: 1n }];
      const transaction = await withOffsets(transactional(), member, sent);
      await transaction.commit();
      const before = member.failures.length; // a broker that has just begun does not know its groups for a while
      member.rejoin(new KqError('KQ_AWAY', 'a test'));
      await member.receives(3);
      expect(member.values).toEqual(['a', 'b', 'b']);
      expect(member.failures.slice(before)).toEqual([failing('KQ_AWAY')]);
      expect(member.rebalances.at(-1)).toMatchObject({ continued: false });
    });
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
    await expect(zombie.commit()).rejects.toEqual(failing('KQ_TRANSACTION'));
    await zombie.abort();
    const values = Array.from({ length: 30 }, (_, n) => `b${n}`);
    for (const value of values) await transaction.send(log.topic, [here(value)]); // the zombie takes nothing back meanwhile
    await transaction.commit();
    const member = await log.join();
    await member.receives(values.length);
    expect(member.values).toEqual(values);
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
