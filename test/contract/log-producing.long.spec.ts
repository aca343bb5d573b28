// The messages a log stores, and its answers to producers.
import { expect, it } from '@jest/globals';
import type { Sent } from 'nest-kq/src/driver/driver.js';
import type { Partitioner } from 'nest-kq/src/driver/partitioning.js';
import { everyLog, failing, message, stored } from './log-facts.js';

const LARGEST = 1_048_588;

everyLog((log) => {
  it('answers each message with its place, in the order given', async () => {
    const first = await log.send(
      ...['a', 'b', 'c'].map((value, index) => message(value, { partition: index % 2 })),
    );
    expect(first).toEqual([
      { partition: 0, offset: 0n },
      { partition: 1, offset: 0n },
      { partition: 0, offset: 1n },
    ]);
    await expect(log.send(message('d', { partition: 0 }))).resolves.toEqual([{ partition: 0, offset: 2n }]);
  });

  it('chooses the partition by the key as the client in Java does', async () => {
    // The hashes are those of UtilsTest.java of Apache Kafka.
    const hashes = {
      '21': -973932308,
      foobar: -790332482,
      'a-little-bit-long-string': -985981536,
      abc: 479470107,
    };
    const topic = await log.topicOf(7);
    const keys = Object.keys(hashes);
    const sent = await log.producer().send(
      topic,
      keys.map((key) => message('v', { key: Buffer.from(key) })),
    );
    expect(stored(sent).map(({ partition }) => partition)).toEqual(
      Object.values(hashes).map((hash) => (hash & 0x7fffffff) % 7),
    );
  });

  it('puts messages without a key into one partition for each call, and into the next one by the next call', async () => {
    const producer = log.producer();
    const partitions = [];
    for (let call = 0; call < 4; call++) {
      const sent = stored(await producer.send(log.topic, [message('a'), message('b')]));
      expect(sent[0]?.partition).toBe(sent[1]?.partition);
      partitions.push(sent[0]?.partition);
    }
    expect(new Set(partitions)).toEqual(new Set([0, 1, 2, 3]));
  });

  it('asks a partitioner for the partition of each message that names none', async () => {
    const asked: unknown[] = [];
    const partitioner: Partitioner = ({ topic, key, value, headers }, partitions) => {
      asked.push([topic, key, value, headers, partitions]);
      const text = String(value);
      if (text === 'throws') throw new Error('no tenant');
      return text === 'by key' ? undefined : Number(text);
    };
    const producer = log.producer({ partitioner });
    const key = Buffer.from('21');
    const headers = { tenant: Buffer.from('a') };
    const sent = await producer.send(log.topic, [
      message('3', { headers }),
      message('0', { partition: 1 }),
      message('4'),
      message('throws'),
      message('by key', { key }),
    ]);
    expect(sent.map((each) => (each instanceof Error ? each.message : each.partition))).toEqual([
      3,
      1,
      `KQ_BAD_MESSAGE: the partition of ${log.topic} is 4: expected 0 to 3`,
      `KQ_BAD_MESSAGE: the partitioner threw for a message of ${log.topic}`,
      (-973932308 & 0x7fffffff) % 4,
    ]);
    expect((sent[3] as Error).cause).toEqual(new Error('no tenant'));
    expect(asked).toHaveLength(4);
    expect(asked[0]).toEqual([log.topic, null, Buffer.from('3'), headers, 4]);
  });

  it('keeps keys, values, headers and timestamps as they are', async () => {
    const bytes = Buffer.from([0, 1, 0x7f, 0x80, 0xff]);
    const timestamp = Date.now() - 60_000;
    const headers = {
      one: Buffer.from('1'),
      several: [Buffer.from('a'), Buffer.from('b'), Buffer.from('a')],
      empty: Buffer.alloc(0),
    };
    await log.send(
      message('', { key: bytes, partition: 0, headers, timestamp }),
      { key: bytes, value: null, partition: 0 },
      { key: Buffer.alloc(0), value: bytes, partition: 0 },
    );
    const member = await log.join();
    const [full, tombstone, keyed] = await member.receives(3);
    expect(full).toMatchObject({ offset: 0n, key: bytes, value: Buffer.alloc(0), timestamp });
    expect(full?.headers).toEqual(headers);
    expect(tombstone).toMatchObject({ offset: 1n, key: bytes, value: null });
    expect(tombstone?.headers).toEqual({});
    expect(keyed).toMatchObject({ offset: 2n, key: Buffer.alloc(0), value: bytes });
  });

  it('gives a message the time at which it was sent', async () => {
    const before = Date.now();
    await log.send(message('a'));
    const after = Date.now();
    const [{ timestamp } = { timestamp: 0 }] = await (await log.join()).receives(1);
    expect(timestamp).toBeGreaterThanOrEqual(before);
    expect(timestamp).toBeLessThanOrEqual(after);
  });

  it('stores more in one call than one request may have, in order', async () => {
    const value = 'x'.repeat(2_000);
    const messages = Array.from({ length: 3_000 }, (_, n) => message(`${n} ${value}`, { partition: n % 3 }));
    const sent = await log.send(...messages);
    for (const partition of [0, 1, 2]) {
      const offsets = sent.filter((each) => each.partition === partition).map(({ offset }) => offset);
      expect(offsets).toEqual(Array.from({ length: 1_000 }, (_, n) => BigInt(n)));
    }
    const member = await log.join();
    await member.receives(3_000);
    const byPartition = member.batches.filter(({ partition }) => partition === 1);
    const numbers = byPartition.flatMap(({ messages }) =>
      messages.map(({ value }) => parseInt(String(value), 10)),
    );
    expect(numbers).toEqual(Array.from({ length: 1_000 }, (_, n) => 3 * n + 1));
  });

  it('stores the calls of one topic in their order', async () => {
    const producer = log.producer();
    const calls = Array.from({ length: 30 }, (_, n) =>
      producer.send(log.topic, [message(`${n}`, { partition: 2 })]),
    );
    const sent = (await Promise.all(calls)).flatMap(stored);
    expect(sent.map(({ offset }) => offset)).toEqual(Array.from({ length: 30 }, (_, n) => BigInt(n)));
    const member = await log.join();
    await member.receives(30);
    expect(member.values).toEqual(Array.from({ length: 30 }, (_, n) => `${n}`));
  });

  it('fails only a message that is too large', async () => {
    const producer = log.producer();
    const large = message('x'.repeat(LARGEST), { partition: 1 });
    const sent = await producer.send(log.topic, [
      message('a', { partition: 0 }),
      message('b', { partition: 1 }),
      large,
      message('c', { partition: 1 }),
      message('d', { partition: 0 }),
    ]);
    expect(sent).toEqual([
      { partition: 0, offset: 0n },
      { partition: 1, offset: 0n },
      failing('KQ_TOO_LARGE'),
      { partition: 1, offset: 1n },
      { partition: 0, offset: 1n },
    ]);
    // The messages stored with it must not make a later one pass for a duplicate.
    await expect(
      producer.send(log.topic, [message('e', { partition: 0 }), message('f', { partition: 1 })]),
    ).resolves.toEqual([
      { partition: 0, offset: 2n },
      { partition: 1, offset: 2n },
    ]);
    const member = await log.join();
    await member.receives(6);
    expect(member.values.toSorted()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  it('fails only a message for a partition that does not exist', async () => {
    const sent = await log
      .producer()
      .send(log.topic, [
        message('a', { partition: 4 }),
        message('b', { partition: 3 }),
        message('c', { partition: -1 }),
      ]);
    expect(sent).toEqual([
      failing('KQ_BAD_MESSAGE'),
      { partition: 3, offset: 0n },
      failing('KQ_BAD_MESSAGE'),
    ]);
    expect(sent[0]).toHaveProperty('message', expect.stringContaining(`${log.topic} is 4: expected 0 to 3`));
  });

  it.each(['missing', 'no name', ''])('says that there is no topic %j, and creates none', async (topic) => {
    const sent = await log.producer().send(topic, [message('a'), message('b')]);
    expect(sent).toEqual([failing('KQ_UNKNOWN_TOPIC'), failing('KQ_UNKNOWN_TOPIC')]);
    expect(sent[0]).toHaveProperty('message', expect.stringContaining(JSON.stringify(topic)));
    const topics = await log.driver.admin.topics();
    expect(topics.map((each) => each.topic)).not.toContain(topic);
  });

  it('reports each answer at most once, with its final value', async () => {
    const reported = new Map<number, Sent>();
    const messages = [0, 1, 4, 2].map((partition) => message('a', { partition }));
    const sent = await log.producer().send(log.topic, messages, (index, each) => {
      expect(reported.has(index)).toBe(false);
      reported.set(index, each);
    });
    for (const [index, each] of reported) expect(each).toBe(sent[index]);
  });

  it('sends nothing where nothing is given', async () => {
    await expect(log.send()).resolves.toEqual([]);
  });

  it('finishes sends in flight when it closes, and then sends no more', async () => {
    const producer = log.producer();
    const sending = producer.send(log.topic, [message('a', { partition: 0 })]);
    await producer.close();
    await producer.close();
    await expect(sending).resolves.toEqual([{ partition: 0, offset: 0n }]);
    await expect(producer.send(log.topic, [message('b')])).resolves.toEqual([failing('KQ_CLOSED')]);
  });
});
