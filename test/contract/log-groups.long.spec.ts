// Callbacks of a member of a group, and the state the group keeps.
import { expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { everyLog, failing, message } from './log-facts.js';

const ALL = [0, 1, 2, 3];

const inOrder = (partitions: readonly number[]) => partitions.toSorted((a, b) => a - b);

everyLog((log) => {
  const sendToAll = (value: string) => log.send(...ALL.map((partition) => message(value, { partition })));

  it('gives a member all partitions, and their messages in order', async () => {
    await sendToAll('a');
    await sendToAll('b');
    const member = await log.join();
    expect(member.rebalances).toEqual([
      'rejoining',
      { partitions: ALL.map((partition) => `${log.topic}/${partition}`), continued: false },
    ]);
    await member.receives(8);
    await sendToAll('c');
    await member.receives(12);
    for (const partition of ALL) {
      const batches = member.batches.filter((batch) => batch.partition === partition);
      const messages = batches.flatMap((batch) => batch.messages);
      expect(messages.map(({ value }) => String(value))).toEqual(['a', 'b', 'c']);
      expect(messages.map(({ offset }) => offset)).toEqual([0n, 1n, 2n]);
      expect(batches.at(-1)).toMatchObject({ topic: log.topic, next: 3n, end: 3n });
    }
  });

  it('has its partitions confirmed only once it knows them', async () => {
    const member = await log.join();
    await member.has(4);
    expect(member.confirmedTooEarly).toBe(false);
  });

  it('begins where the group has committed', async () => {
    await log.send(...['a', 'b', 'c', 'd'].map((value) => message(value, { partition: 1 })));
    const first = await log.join();
    await first.receives(4);
    await expect(first.commit(log.topic, [1, 2n], [3, 0n])).resolves.toBe(true);
    await expect(log.committed()).resolves.toEqual([undefined, 2n, undefined, 0n]);
    await first.stop();
    const second = await log.join();
    await second.receives(2);
    expect(second.values).toEqual(['c', 'd']);
  });

  it('begins at the end with `last`, and knows that end before anything is committed', async () => {
    await sendToAll('old');
    const first = await log.join({ from: 'last' });
    await expect(log.committed()).resolves.toEqual([1n, 1n, 1n, 1n]);
    await sendToAll('new');
    await first.receives(4);
    expect(new Set(first.values)).toEqual(new Set(['new']));
    await first.stop(); // without a commit, as one that crashes
    await sendToAll('newest');
    const second = await log.join({ from: 'last' });
    await second.receives(8);
    expect(second.values.toSorted()).toEqual([...Array(4).fill('new'), ...Array(4).fill('newest')]);
  });

  it('begins at the first message when asked to', async () => {
    const other = await log.topicOf(1);
    await log.send(message('old'));
    await log.producer().send(other, [message('first')]);
    const member = await log.join({ topics: [log.topic, other], from: 'last', fromFirst: new Set([other]) });
    await log.send(message('new'));
    await member.receives(2);
    expect(member.values.toSorted()).toEqual(['first', 'new']);
  });

  it('is in its group even where no topic matches yet', async () => {
    const member = await log.join({ topics: [/^no topic has such a name$/] });
    expect(member.partitions).toEqual([]);
    await member.stop();
  });

  it('shares the partitions with a member that joins, and takes them over from one that leaves', async () => {
    const first = await log.join();
    expect(first.partitions).toEqual(ALL);
    const second = await log.join();
    await first.has(2);
    expect(first.rebalances.at(-2)).toBe('rejoining');
    expect(first.rebalances.at(-1)).toMatchObject({ continued: true });
    expect(second.rebalances.at(-1)).toMatchObject({ continued: false });
    expect(inOrder([...first.partitions, ...second.partitions])).toEqual(ALL);
    const kept = first.partitions;
    await second.stop();
    await first.has(4);
    expect(first.partitions).toEqual(expect.arrayContaining(kept));
    await sendToAll('a');
    await first.receives(4);
  });

  it('gives again what was not committed before a rebalance', async () => {
    await sendToAll('a');
    const first = await log.join();
    await first.receives(4);
    await first.commit(log.topic, [0, 1n], [1, 1n]);
    const second = await log.join();
    await first.has(2);
    await eventually('what was not committed comes again', () => {
      return first.messages.length + second.messages.length === 6;
    });
    const again = [...first.batches.slice(4), ...second.batches].map(({ partition }) => partition);
    expect(inOrder(again)).toEqual([2, 3]);
  });

  it('commits nothing of a partition that it has lost', async () => {
    await sendToAll('a');
    const first = await log.join();
    await first.receives(4);
    const second = await log.join();
    await first.has(2);
    await first.commit(log.topic, [0, 1n], [1, 1n], [2, 1n], [3, 1n]);
    const committed = await log.committed();
    for (const partition of first.partitions) expect(committed[partition]).toBe(1n);
    for (const partition of second.partitions) expect(committed[partition]).toBeUndefined();
  });

  it('commits until its handler is ready to rejoin, so that nothing of it comes again', async () => {
    await sendToAll('a');
    const first = await log.join();
    await first.receives(4);
    const committed: boolean[] = [];
    first.drain = async () => {
      expect(first.isInGroup).toBe(true); // for transactions, too
      committed.push(await first.commit(log.topic, [0, 1n], [1, 1n]));
      await sendToAll('b');
      committed.push(await first.commit(log.topic, [2, 1n], [3, 1n]));
    };
    const second = await log.join();
    await first.has(2);
    expect(committed).toEqual([true, true]);
    await expect(log.committed()).resolves.toEqual([1n, 1n, 1n, 1n]);
    await eventually('what comes next comes', () => first.messages.length + second.messages.length >= 8);
    expect([...first.values, ...second.values]).toEqual([...Array(4).fill('a'), ...Array(4).fill('b')]);
  });

  it('stays in the group for longer than its session while it gets ready', async () => {
    await sendToAll('a');
    const timeouts = { sessionTimeout: 6_000, rebalanceTimeout: 60_000 };
    const first = await log.join(timeouts);
    await first.receives(4);
    const since = performance.now();
    first.drain = () => eventually('its session would be over', () => performance.now() > since + 8_000);
    await log.join(timeouts);
    await first.has(2);
    expect(first.rebalances.at(-1)).toMatchObject({ continued: true });
    expect(first.failures).toEqual([]);
  }, 60_000);

  it('does not wait endlessly for a handler that is not ready, and commits nothing of it then', async () => {
    await sendToAll('a');
    const timeouts = { sessionTimeout: 6_000, rebalanceTimeout: 6_000 };
    const first = await log.join(timeouts);
    await first.receives(4);
    let ready = () => {};
    first.drain = () => new Promise<void>((resolve) => (ready = resolve));
    await log.join(timeouts);
    await first.has(2);
    await expect(log.committed()).resolves.toEqual([undefined, undefined, undefined, undefined]);
    ready();
  }, 60_000);

  it('commits nothing once it has stopped', async () => {
    await sendToAll('a');
    const first = await log.join();
    await first.receives(4);
    await first.stop();
    await expect(first.commit(log.topic, [0, 1n])).resolves.toBe(false);
    await expect(log.committed()).resolves.toEqual([undefined, undefined, undefined, undefined]);
  });

  it('holds a partition that is paused, and no other', async () => {
    const member = await log.join();
    member.pause(log.topic, 1);
    // Kafka may rebalance the group at any time. Then nothing is paused, and everything comes again, since nothing is committed.
    const assigned = member.assigned.bind(member);
    member.assigned = (...given) => {
      assigned(...given);
      member.batches.length = 0;
      member.pause(log.topic, 1);
    };
    await sendToAll('a');
    await member.receives(3);
    await sendToAll('b');
    await member.receives(6);
    expect(member.batches.map(({ partition }) => partition)).not.toContain(1);
    member.resume(log.topic, 1);
    await member.receives(8);
    expect(
      member.batches.filter(({ partition }) => partition === 1).flatMap(({ messages }) => messages),
    ).toHaveLength(2);
  });

  it('holds all paused partitions, resumes them, and rejoins meanwhile', async () => {
    const first = await log.join();
    for (const partition of ALL) first.pause(log.topic, partition);
    await sendToAll('a');
    const second = await log.join({ topics: [await log.topicOf(1)] });
    await second.has(1);
    await first.has(4);
    await first.receives(4); // nothing is paused after it has rejoined
    for (const partition of ALL) first.pause(log.topic, partition);
    await sendToAll('b');
    for (const partition of ALL) first.resume(log.topic, partition);
    await first.receives(8);
  });

  it('lets members of one group read different topics', async () => {
    const other = await log.topicOf(2);
    const first = await log.join();
    const second = await log.join({ topics: [other, log.topic] });
    await eventually('they share all six', () => {
      return first.partitions.length > 0 && first.partitions.length + second.partitions.length === 6;
    });
    expect(first.assignment.every(({ topic }) => topic === log.topic)).toBe(true);
    await log.producer().send(other, [message('a', { partition: 0 }), message('b', { partition: 1 })]);
    await second.receives(2);
  });

  it('gives every group every message', async () => {
    await sendToAll('a');
    const members = [await log.join(), await log.join({ group: `${log.group}.other` })];
    for (const member of members) await member.receives(4);
  });

  it('reads all topics that a regular expression matches, but none made for messages that failed', async () => {
    const part = `${log.topic}.part`;
    await log.driver.admin.createTopics(
      ['a', 'b', 'b.g.kq-dead', 'b.g.kq-retry-10s'].map((name) => {
        return { topic: `${part}.${name}`, partitions: 1 };
      }),
    );
    const member = await log.join({ topics: [new RegExp(`^${part.replaceAll('.', '\\.')}\\.`, 'g')] });
    expect(member.assignment.map(({ topic }) => topic)).toEqual([`${part}.a`, `${part}.b`]);
  });

  it('does not start on a missing topic', async () => {
    const member = log.member({ topics: [log.topic, 'missing'] });
    await expect(member.start()).rejects.toEqual(failing('KQ_UNKNOWN_TOPIC'));
    await expect(member.start()).rejects.toThrow();
  });

  it('joins without a missing topic where it may wait, and reads it once it is there', async () => {
    const later = `${log.topic}.later`;
    const member = await log.join({ topics: [log.topic, later], missing: 'wait' });
    expect(member.partitions).toEqual(ALL);
    await eventually('the member tells it', () => member.missing.length > 0);
    expect(member.missing).toEqual([{ topic: later, why: 'unknown' }]);
    await sendToAll('a');
    await member.receives(4);
    await log.driver.admin.createTopics([{ topic: later, partitions: 1 }]);
    await log.producer().send(later, [message('b')]);
    await eventually('the first message of the new topic comes', () => member.values.includes('b'));
    await eventually('nothing is missing any more', () => member.missing.length === 0);
  });

  it('reports nothing more once it is stopped, and leaves the group', async () => {
    await sendToAll('a');
    const member = await log.join();
    const stopping = member.stop();
    const before = [member.batches.length, member.rebalances.length];
    await stopping;
    await member.stop();
    await sendToAll('b');
    await log.driver.admin.setCommitted(log.group, log.topic, [{ partition: 0, offset: 1n }]);
    expect([member.batches.length, member.rebalances.length]).toEqual(before);
  });

  it('leaves the group when it is stopped while it joins', async () => {
    const member = log.member({ sessionTimeout: 6_000 });
    await Promise.allSettled([member.start(), member.stop()]);
    const before = member.rebalances.length;
    await sendToAll('a');
    await eventually('the group is empty', async () => {
      const offsets = [{ partition: 0, offset: 0n }];
      const set = log.driver.admin.setCommitted(log.group, log.topic, offsets);
      return set.then(
        () => true,
        () => false,
      );
    });
    expect([member.batches.length, member.rebalances.length]).toEqual([0, before]);
  });
});
