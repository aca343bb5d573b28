import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { Talker } from '../../spec-support/talker.js';
import { InProcessNode } from './in-process-node.js';
import { NO_LIMITS, resolveLimits, type NodeLimits } from './capacity.js';

const put = (body: string) => `put 0 0 60 ${body.length}\r\n${body}\r\n`;

let clock: VirtualClock;
let node: InProcessNode;
let warnings: string[];

beforeEach(() => {
  clock = new VirtualClock();
  warnings = [];
});

afterEach(() => node.close());

function begin(limits: Partial<NodeLimits>): Talker {
  node = new InProcessNode(clock, undefined, { ...NO_LIMITS, ...limits }, (message) =>
    warnings.push(message),
  );
  return new Talker(clock, node);
}

describe('a node at its job limit', () => {
  it('stores no more jobs, and everything else still works', async () => {
    const a = begin({ maxJobs: 2 });
    expect(await a.says(put('a') + put('b') + put('c'))).toBe(
      'INSERTED 1\r\nINSERTED 2\r\nOUT_OF_MEMORY\r\n',
    );
    expect(
      await a.says(
        'reserve\r\nrelease 1 0 100\r\nreserve\r\nbury 2 0\r\nkick 9\r\npeek 1\r\nlist-tube-used\r\n',
      ),
    ).toBe(
      'RESERVED 1 1\r\na\r\nRELEASED\r\nRESERVED 2 1\r\nb\r\nBURIED\r\nKICKED 1\r\nFOUND 1 1\r\na\r\nUSING default\r\n',
    );
    expect(await a.says(`delete 1\r\n${put('d')}${put('e')}`)).toMatch(
      /^DELETED\r\nINSERTED \d+\r\nOUT_OF_MEMORY\r\n$/,
    );
  });

  it('reports it once a minute, with how often it happened', async () => {
    const a = begin({ maxJobs: 1 });
    await a.says(put('x').repeat(12));
    const first = 'answered a client OUT_OF_MEMORY: 1 jobs are stored, the limit of `maxJobs`';
    expect(warnings).toEqual([first]);
    await clock.advance(59_999);
    await a.says(put('x'));
    await clock.advance(1);
    await a.says(put('x'));
    expect(warnings.slice(1)).toEqual([`${first}; this happened 11 more times since the last such message`]);
  });
});

describe('a node whose jobs take as much memory as they may', () => {
  it('stores no more until there is room for its body', async () => {
    const a = begin({ maxMemory: 2_000 });
    expect(await a.says(put('x'.repeat(1_000)))).toBe('INSERTED 1\r\n');
    expect(await a.says(put('x'.repeat(401)))).toBe('OUT_OF_MEMORY\r\n');
    expect(await a.says(put('x'.repeat(400)))).toBe('INSERTED 3\r\n');
    expect(await a.says(put(''))).toBe('OUT_OF_MEMORY\r\n');
    expect(await a.says(`delete 1\r\n${put('x'.repeat(1_000))}`)).toBe('DELETED\r\nINSERTED 5\r\n');
    expect(warnings).toEqual([expect.stringContaining('the jobs take 2000 bytes, the limit of `maxMemory`')]);
  });
});

describe('a client that makes tubes endlessly', () => {
  it('gets as many to watch as one connection may', async () => {
    const a = begin({ maxWatched: 3 });
    const watch = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) => `watch t${from + i}\r\n`).join('');
    expect(await a.says(watch(0, 4))).toBe('WATCHING 2\r\nWATCHING 3\r\nOUT_OF_MEMORY\r\nOUT_OF_MEMORY\r\n');
    expect(await a.says('watch t1\r\nlist-tubes\r\n')).toMatch(
      /^WATCHING 3\r\nOK \d+\r\n---\n- default\n- t0\n- t1\n\r\n$/,
    );
    expect(await a.says('ignore t0\r\nwatch t9\r\n')).toBe('WATCHING 2\r\nWATCHING 3\r\n');
    expect(warnings).toEqual([
      expect.stringContaining('a client is watching 3 tubes, the limit of `maxWatched`'),
    ]);
  });

  it('gets as many as the node may have, and others keep theirs', async () => {
    const a = begin({ maxTubes: 3 });
    const b = new Talker(clock, node);
    expect(await b.says('use mine\r\n')).toBe('USING mine\r\n');
    expect(await a.says('watch t0\r\nwatch t1\r\nuse t2\r\n')).toBe(
      'WATCHING 2\r\nOUT_OF_MEMORY\r\nOUT_OF_MEMORY\r\n',
    );
    expect(await a.says('use t0\r\nlist-tube-used\r\n')).toBe('USING t0\r\nUSING t0\r\n');
    expect(await b.says('watch mine\r\nuse mine\r\n')).toBe('WATCHING 2\r\nUSING mine\r\n');
    a.stream.destroy();
    await clock.advance(0);
    expect(await b.says('watch t1\r\n')).toBe('WATCHING 3\r\n');
    expect(warnings).toEqual([expect.stringContaining('there are 3 tubes, the limit of `maxTubes`')]);
  });
});

describe('a node whose connections hold more than they may', () => {
  const LIMIT = 400_000;

  it('cuts the one that has the most, and serves the others', async () => {
    const a = begin({ maxBuffers: LIMIT });
    await a.says(put('x'.repeat(60_000)));
    const deaf = new Talker(clock, node);
    deaf.stream.pause();
    const halves = Array.from({ length: 5 }, () => new Talker(clock, node));
    for (const each of halves) await each.says(`put 0 0 60 60000\r\n${'y'.repeat(50_000)}`);
    await deaf.says('peek 1\r\n'.repeat(1_000)); // 64 KB and a reply wait
    expect([deaf, ...halves].map(({ hasEnded }) => hasEnded)).toEqual([false, ...Array(5).fill(false)]);
    const more = Array.from({ length: 5 }, () => new Talker(clock, node));
    for (const each of more) await each.says(`put 0 0 60 60000\r\n${'y'.repeat(50_000)}`);
    expect(deaf.hasEnded).toBe(true);
    expect([...halves, ...more].filter(({ hasEnded }) => hasEnded).length).toBeLessThan(5);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^closed a connection: .* than the 400000 bytes of `maxBuffers`, this one \d+ of them/,
      ),
    ]);
    expect(await a.says('stats-job 1\r\n')).toContain('state: ready');
    for (const each of [...halves, ...more]) {
      if (!each.hasEnded) expect(await each.says(`${'y'.repeat(10_000)}\r\n`)).toMatch(/^INSERTED \d+\r\n$/);
    }
  });

  it('counts nothing of those that have gone, or have nothing left', async () => {
    const a = begin({ maxBuffers: LIMIT });
    for (let i = 0; i < 50; i++) {
      const each = new Talker(clock, node);
      await each.says(`${put('x'.repeat(60_000))}put 0 0 60 60000\r\n${'y'.repeat(50_000)}`);
      if (i % 2 === 0) each.stream.destroy();
      else await each.says(`${'y'.repeat(10_000)}\r\npeek 1\r\n`);
      await clock.advance(0);
    }
    expect(warnings).toEqual([]);
    expect(await a.says('list-tube-used\r\n')).toBe('USING default\r\n');
  });
});

describe('the limits', () => {
  it('are by default those of beanstalkd, but for tubes and for what connections hold', () => {
    expect(resolveLimits({})).toEqual({
      maxJobSize: 65_535,
      maxJobs: Infinity,
      maxMemory: Infinity,
      maxTubes: 100_000,
      maxWatched: 10_000,
      maxBuffers: 256 * 1024 * 1024,
    });
    expect(resolveLimits({ maxJobSize: 2 ** 30 }).maxBuffers).toBe(2 ** 33);
  });

  it.each([
    [{ maxJobs: 0 }, '`maxJobs` is 0: expected a whole number, 1 or more'],
    [{ maxMemory: 1.5 }, '`maxMemory` is 1.5: expected a whole number of bytes, 1 or more'],
    [{ maxTubes: '7' }, '`maxTubes` is "7": expected a whole number, 1 or more'],
    [{ maxWatched: Infinity }, '`maxWatched` is Infinity: expected a whole number, 1 or more'],
    [{ maxBuffers: 1_000_000 }, '`maxBuffers` is 1000000: expected a whole number of bytes, 1310716 or more'],
    [{ maxJobSize: 0 }, '`maxJobSize` is 0: expected a whole number of bytes, from 1 to 1073741824'],
  ])('are refused as %j', (given, message) => {
    node = new InProcessNode(clock);
    expect(() => resolveLimits(given as Partial<NodeLimits>)).toThrow(`DQ_CONFIG: ${message}`);
  });
});
