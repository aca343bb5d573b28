// The ledger in Redis beyond the contract: its records, its scripts, its time, its start and its close.
import { stored } from 'nest-dq/spec-support/stored.js';
import { describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { systemClock, type Clock } from 'nest-handlers/time';
import { eventually } from 'test-servers';
import { claim, copy, DOWN, EACH_REDIS, open, openUnstarted, realRedis, watch } from './real-redis.js';

describe.each(EACH_REDIS)('with %s', (_name, cluster) => {
  const at = realRedis({ cluster });

  it.each([
    ['a hash', (key: string) => at.inspect.hset(key, { theirs: 'somebody else’s' }), 'WRONGTYPE'],
    ['a string that no script understands', (key: string) => at.inspect.set(key, 'somebody else’s'), 'ERR'],
  ])('fails for a record that is %s, and for no other', async (_what, damage, code) => {
    const tube = open(at.client).tube(`damaged${code}`);
    await tube.readTime();
    const events = watch(tube);
    await damage(`{damaged${code}}:job`);
    await expect(tube.settle([{ id: 'job', generation: 0, mask: 1, unknown: true }])).rejects.toMatchObject({
      ...DOWN,
      cause: { message: expect.stringMatching(new RegExp(`^${code} `)) },
    });
    expect(tube.away).toBe(false);
    await expect(claim(tube, 'other')).resolves.toMatchObject([{ kind: 'run' }]);
    expect(events).toEqual([]);
  });

  it.each(['finished', 'ends'])(
    'completes jobs although another program wrote the key %s of those that are kept',
    async (name) => {
      const tube = open(at.client).tube(`theirs-${name}`);
      await tube.readTime();
      await at.inspect.set(`{theirs-${name}}::${name}`, 'somebody else’s');
      const [answer] = await claim(tube, 'job');
      const { fence, due, attempt } = answer as { fence: number; due: number; attempt: number };
      const ref = { id: 'job', generation: 0, born: 0, due, fence, attempt, lastOk: tube.now() };
      const kept = { run: { took: 1, attempt, process: 'host:7' }, period: 60_000, max: 10 };
      const request = { ...ref, owed: { mask: 1, unknown: false }, outcome: { kind: 'done', kept } } as const;
      await expect(tube.complete([request])).resolves.toEqual(['ok']);
      await expect(tube.find(['job'])).resolves.toMatchObject([{ state: 'done' }]);
      await expect(tube.ask('ended', ['job'])).rejects.toMatchObject(DOWN);
    },
  );

  it('reads and writes a record once in a call, however many of its entries concern it', async () => {
    const tube = open(at.client).tube('once');
    await tube.readTime();
    const many = <T>(entry: (i: number) => T) => Array.from({ length: 1_000 }, (_, i) => entry(i));
    const calls = async () => {
      const stats = await at.inspect.info('commandstats');
      return ['get', 'set'].map((name) =>
        Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0),
      );
    };
    const counted = async (call: () => Promise<unknown>) => {
      const before = await calls();
      await call();
      return (await calls()).map((count, i) => count - before[i]!);
    };
    const due = tube.now() + 60_000;
    const opening = { by: 'add', onDuplicate: 'replace' } as const;
    const opens = many(() => ({ id: 'job', opening, due, announced: 7 }));
    const generations: number[] = [];
    await expect(
      counted(async () => {
        for (const answer of await tube.open(opens)) {
          if (answer.kind === 'opened') generations.push(answer.generation);
        }
      }),
    ).resolves.toEqual([1, 1]);
    const owed = { mask: 7, unknown: false };
    const commits = generations.map((generation) => ({
      id: 'job',
      opening,
      generation,
      born: generation,
      due,
      announced: 7,
      owed,
      places: [],
      undecidedUntil: due,
    }));
    await expect(counted(() => tube.commit(commits))).resolves.toEqual([1, 1]);
    const settled = generations.map((generation) => ({ id: 'job', generation, mask: 7, unknown: false }));
    await expect(counted(() => tube.settle(settled.slice(0, 500)))).resolves.toEqual([1, 1]);
    // The claim of another job: its own record is written without being read. The control record is read once.
    const claimed = counted(() => tube.claim([copy(tube, 'other')], { settled: settled.slice(500) }));
    await expect(claimed).resolves.toEqual([2, 2]);
  });

  it('gives what one process left to one other, once it is certain', async () => {
    const handovers = [1, 2, 3].map(() => open(at.client, { prefix: 'shop.' }).handover);
    const deletions = (id: string, certainIn: number) => ({
      tube: stored('shop.t'),
      ids: [id],
      generations: [0],
      copies: [{ index: 0, instance: 'i1' }],
      unknown: false,
      certainIn,
    });
    const [leaving, ...others] = handovers;
    await leaving!.leave([deletions('later', 60_000), deletions('now', 0), deletions('before', -1)]);
    const taken = await Promise.all(others.map((handover) => handover.take()));
    const ids = taken.flat().map(({ ids: [id] }) => id);
    expect(new Set(ids)).toEqual(new Set(['before', 'now']));
    await expect(leaving!.take()).resolves.toEqual([]);
    expect(await at.inspect.pttl('{shop.:}::left')).toBeGreaterThan(86_000_000);
    await expect(open(at.client).handover.take()).resolves.toEqual([]);
  });

  it('finds its scripts again after the server forgot them', async () => {
    const tube = open(at.client).tube('scripts');
    await expect(claim(tube, '1')).resolves.toMatchObject([{ kind: 'run' }]);
    await at.inspect.script('FLUSH');
    await expect(claim(tube, '2')).resolves.toMatchObject([{ kind: 'run' }]);
    expect(tube.away).toBe(false);
  });

  it('repeats a call that came too late, with the right time', async () => {
    let lost = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() - lost };
    const tube = open(at.client, { clock }).tube('late');
    await tube.readTime();
    lost = 10_000; // the machine slept, and its monotonic clock with it
    await expect(tube.claim([copy(tube, 'job')])).resolves.toMatchObject([{ kind: 'run', attempt: 1 }]);
    expect(Math.abs(tube.now() - Date.now())).toBeLessThan(1_000);
  });

  it('works with tubes of different slots and unusual names', async () => {
    const ledger = open(at.client);
    const names = ['a', 'b', 'c/d;e.f$g_h(i)', '+-'];
    const answers = await Promise.all(names.map((name) => claim(ledger.tube(name), 'job')));
    expect(answers.flat().map(({ kind }) => kind)).toEqual(['run', 'run', 'run', 'run']);
    const keys = await at.inspect.keys('*c/d;e.f$g_h(i)*');
    expect(keys).toEqual(['{c/d;e.f$g_h(i)}:job']);
  });

  it('connects at the first call, where that comes before the start', async () => {
    const ledger = openUnstarted(at.client);
    await expect(claim(ledger.tube('early'), 'job')).resolves.toMatchObject([{ kind: 'run' }]);
    ledger.start();
    await expect(claim(ledger.tube('early'), 'job2')).resolves.toMatchObject([{ kind: 'run' }]);
  });

  it('may be closed without a start, or before it is connected', async () => {
    const ledger = openUnstarted(at.client);
    await ledger.close();
    ledger.start();
    await expect(ledger.tube('t').readTime()).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    const begun = open(at.client);
    const waiting = begun.tube('t').readTime();
    const refused = expect(waiting).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    await begun.close();
    await refused;
  });

  it('answers calls in flight when it is closed, and leaves no connection behind', async () => {
    const connections = async () => (await at.inspect.call('CLIENT', 'LIST')) as string;
    const before = (await connections()).trim().split('\n').length;
    const ledger = open(at.client);
    const tube = ledger.tube('closed');
    await tube.readTime();
    expect((await connections()).trim().split('\n').length).toBeGreaterThan(before);
    const answer = claim(tube, 'job');
    await ledger.close();
    await expect(answer).resolves.toMatchObject([{ kind: 'run' }]);
    await expect(claim(tube, 'job')).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    await eventually(
      'its connections are closed',
      async () => (await connections()).trim().split('\n').length <= before,
    );
  });

  it('forgets tubes that come and go, and not one that is listened to', async () => {
    let minute: (() => void) | undefined;
    const after: Clock['after'] = (ms, callback) => {
      if (ms !== 60_000) return systemClock.after(ms, callback);
      minute = callback;
      return { cancel: () => (minute = undefined) };
    };
    const ledger = open(at.client, { clock: { ...systemClock, after } });
    const kept = ledger.tube('kept');
    const events = watch(kept);
    const sizes = () =>
      ['tubes', 'masters'].map((each) => (Reflect.get(ledger, each) as ReadonlyMap<string, unknown>).size);
    await Promise.all(Array.from({ length: 200 }, (_, i) => ledger.tube(`gone ${i}`).readTime()));
    expect(sizes()).toEqual([201, at.client instanceof Cluster ? 201 : 1]);
    minute!(); // they were used in the first one
    minute!();
    expect(Math.max(...sizes())).toBe(1);
    await expect(claim(kept, 'job')).resolves.toMatchObject([{ kind: 'run' }]);
    await expect(claim(ledger.tube('gone 1'), 'job')).resolves.toMatchObject([{ kind: 'run' }]);
    expect(events).toEqual([]);
  });

  it('leaves the user’s client open', async () => {
    const ledger = open(at.client);
    await ledger.tube('t').readTime();
    await expect(at.client.set('{k}', 'v')).resolves.toBe('OK');
    await ledger.close();
    await expect(at.client.get('{k}')).resolves.toBe('v');
    expect(at.client.options.keyPrefix).toBe('theirs:');
  });
});
