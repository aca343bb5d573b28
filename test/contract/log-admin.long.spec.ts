// Topics and offsets, as an operator sees and sets them.
import { expect, it } from '@jest/globals';
import { everyLog, failing, message } from './log-facts.js';

everyLog((log) => {
  it('creates topics that are missing, and leaves the others as they are', async () => {
    const { admin } = log.driver;
    const [made, like, unlike] = ['made', 'like', 'unlike'].map((end) => `${log.topic}.${end}`) as [
      string,
      string,
      string,
    ];
    await expect(
      admin.createTopics([
        { topic: log.topic, partitions: 9 },
        { topic: made, partitions: 2 },
        { topic: like, like: log.topic, config: { 'retention.ms': '1000' } },
        { topic: unlike, like: `${log.topic}.missing`, partitions: 1 },
      ]),
    ).resolves.toEqual([made, like, unlike]);
    const topics = await admin.topics();
    expect(topics).toEqual(
      expect.arrayContaining([
        { topic: log.topic, partitions: 4 },
        { topic: made, partitions: 2 },
        { topic: like, partitions: 4 },
        { topic: unlike, partitions: 1 },
      ]),
    );
    expect(topics.map(({ topic }) => topic)).toEqual(topics.map(({ topic }) => topic).toSorted());
    expect(topics.filter(({ topic }) => topic.startsWith('__'))).toEqual([]);
    await expect(admin.createTopics([])).resolves.toEqual([]);
  });

  it.each([
    { topic: 'no name' },
    { topic: '' },
    { topic: 'x'.repeat(250) },
    { topic: 'fine', partitions: 0 },
  ])('creates no topic from %j', async (settings) => {
    await expect(log.driver.admin.createTopics([settings])).rejects.toEqual(failing('KQ_CONFIG'));
  });

  it('knows where each partition begins and ends', async () => {
    await log.send(
      message('a', { partition: 2 }),
      message('b', { partition: 2 }),
      message('c', { partition: 0 }),
    );
    const ends = [
      { partition: 0, first: 0n, end: 1n },
      { partition: 1, first: 0n, end: 0n },
      { partition: 2, first: 0n, end: 2n },
      { partition: 3, first: 0n, end: 0n },
    ];
    await expect(log.driver.admin.ends(log.topic)).resolves.toEqual(ends);
    await expect(log.driver.admin.endsOfLed(log.topic)).resolves.toEqual(ends);
  });

  it('knows which message was the first of a time or later', async () => {
    const now = Date.now();
    await log.send(
      message('a', { partition: 0, timestamp: now - 3_000 }),
      message('b', { partition: 0, timestamp: now - 2_000 }),
      message('c', { partition: 0, timestamp: now - 1_000 }),
      message('d', { partition: 1, timestamp: now - 3_000 }),
    );
    const at = async (time: number) =>
      (await log.driver.admin.offsetsAt(log.topic, time)).map(({ offset }) => offset);
    await expect(at(now - 2_000)).resolves.toEqual([1n, 1n, 0n, 0n]);
    await expect(at(now - 1_500)).resolves.toEqual([2n, 1n, 0n, 0n]);
    await expect(at(0)).resolves.toEqual([0n, 0n, 0n, 0n]);
    await expect(at(now)).resolves.toEqual([3n, 1n, 0n, 0n]);
  });

  it('reads one message by its offset', async () => {
    const sent = ['a', 'b', 'c'].map((value) =>
      message(value, { partition: 1, key: Buffer.from('k'), headers: { h: Buffer.from(value) } }),
    );
    await log.send(...sent);
    const { admin } = log.driver;
    const read = await admin.read(log.topic, 1, 1n);
    expect(read).toMatchObject({
      offset: 1n,
      key: Buffer.from('k'),
      value: Buffer.from('b'),
      headers: { h: Buffer.from('b') },
    });
    await expect(admin.read(log.topic, 1, 3n)).resolves.toBeUndefined();
    await expect(admin.read(log.topic, 0, 0n)).resolves.toBeUndefined();
    await expect(admin.read(log.topic, 4, 0n)).rejects.toEqual(failing('KQ_BAD_MESSAGE'));
    await expect(admin.read(`${log.topic}.none`, 0, 0n)).rejects.toEqual(failing('KQ_UNKNOWN_TOPIC'));
  });

  it('reads a partition in parts, from any offset on', async () => {
    await log.send(...['a', 'b', 'c', 'd', 'e'].map((value) => message(value, { partition: 1 })));
    const { admin } = log.driver;
    const values: string[] = [];
    let next = 1n;
    for (let parts = 0; next < 5n; parts++) {
      const read = await admin.readFrom(log.topic, 1, next, 1);
      expect(read.messages[0]!.offset).toBe(next);
      expect(read.next).toBe(read.messages.at(-1)!.offset + 1n);
      values.push(...read.messages.map(({ value }) => String(value)));
      next = read.next;
    }
    expect(values).toEqual(['b', 'c', 'd', 'e']);
    expect((await admin.readFrom(log.topic, 1, 0n, 1_000_000)).messages).toHaveLength(5);
    await expect(admin.readFrom(log.topic, 0, 0n, 1)).resolves.toEqual({ messages: [], next: 0n });
    await expect(admin.readFrom(log.topic, 4, 0n, 1)).rejects.toEqual(failing('KQ_BAD_MESSAGE'));
    await expect(admin.readFrom('missing', 0, 0n, 1)).rejects.toEqual(failing('KQ_UNKNOWN_TOPIC'));
  });

  it('reads nothing of transactions that were aborted or have not ended, and continues after the aborted ones', async () => {
    const producer = log.producer({ transactionalId: `${log.topic}.tx` });
    const store = async (value: string, end: 'commit' | 'abort') => {
      const transaction = await producer.transaction();
      await transaction.send(log.topic, [message(value, { partition: 1 })]);
      await transaction[end]();
    };
    await store('aborted', 'abort');
    await store('committed', 'commit');
    await store('aborted', 'abort');
    const open = await producer.transaction();
    await open.send(log.topic, [message('open', { partition: 1 })]);
    const { admin } = log.driver;
    const { end } = (await admin.ends(log.topic))[1]!;
    const values: string[] = [];
    for (let next = 0n; next < end;) {
      const read = await admin.readFrom(log.topic, 1, next, 1);
      values.push(...read.messages.map(({ value }) => String(value)));
      expect(read.next).toBeGreaterThan(next);
      next = read.next;
    }
    expect(values).toEqual(['committed']);
    await open.abort();
  });

  it('lets an empty group continue from other offsets', async () => {
    await log.send(...['a', 'b', 'c'].map((value) => message(value, { partition: 1 })));
    await expect(log.committed()).resolves.toEqual([undefined, undefined, undefined, undefined]);
    await log.driver.admin.setCommitted(log.group, log.topic, [{ partition: 1, offset: 2n }]);
    await expect(log.committed()).resolves.toEqual([undefined, 2n, undefined, undefined]);
    const member = await log.join();
    await expect(member.receives(1)).resolves.toMatchObject([{ offset: 2n }]);
    await member.stop();
    await log.driver.admin.setCommitted(log.group, log.topic, [{ partition: 1, offset: 0n }]);
    const next = await log.join();
    await next.receives(3);
    expect(next.values).toEqual(['a', 'b', 'c']);
  });

  it('sets no offsets of a group that has members', async () => {
    await log.join();
    const setting = log.driver.admin.setCommitted(log.group, log.topic, [{ partition: 0, offset: 0n }]);
    await expect(setting).rejects.toEqual(failing('KQ_GROUP_BUSY'));
    await expect(setting).rejects.toThrow(log.group);
  });

  it('reports a missing topic', async () => {
    const { admin } = log.driver;
    for (const call of [
      () => admin.ends('missing'),
      () => admin.endsOfLed('missing'),
      () => admin.offsetsAt('missing', 0),
      () => admin.committed(log.group, 'missing'),
      () => admin.setCommitted(log.group, 'missing', [{ partition: 0, offset: 0n }]),
    ])
      await expect(call()).rejects.toEqual(failing('KQ_UNKNOWN_TOPIC'));
    await expect(admin.setCommitted(log.group, log.topic, [{ partition: 4, offset: 0n }])).rejects.toEqual(
      failing('KQ_BAD_MESSAGE'),
    );
  });
});
