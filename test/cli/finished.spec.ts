import { hostname } from 'node:os';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from 'test-servers';
import { isEmpty } from '../support/jobs.js';
import { cliSuite, TUBE } from './cluster-suite.js';

const suite = cliSuite({ keepDone: { for: '1d', max: 100 } });
const PROCESS = `${hostname()}:${process.pid}`;
const ids: string[] = [];

beforeAll(async () => {
  const { producer } = suite.system;
  for (const number of [7, 8, 9]) {
    const receipt = await producer.now(TUBE, { number }, number === 9 ? {} : { key: `order-${number}` });
    await eventually('it is done', async () => (await producer.find(receipt))?.state === 'done');
    ids.push(receipt.id);
  }
  // The ledger has forgotten the first one.
  await eventually('no copy is left', () => isEmpty(suite.system, TUBE));
  const redis = new Redis(suite.servers.redis.url);
  await redis.del(`{${TUBE}}:${ids[0]!}`);
  redis.disconnect();
});

interface Page {
  readonly jobs: readonly { id: string; key?: string }[];
  readonly cursor?: string;
}

async function page(...args: string[]): Promise<Page> {
  return JSON.parse((await suite.nestDq(['finished', TUBE, ...args, '--json'])).stdout) as Page;
}

describe('nest-dq finished', () => {
  it('lists what is done, the last end first, page by page', async () => {
    const first = await page('--limit', '2');
    expect(first.jobs).toEqual([
      expect.objectContaining({ id: ids[2], process: PROCESS, attempt: 1 }),
      expect.objectContaining({ id: ids[1], key: 'order-8' }),
    ]);
    const second = await page('--limit', '2', '--cursor', first.cursor!);
    expect(second.jobs.map(({ id }) => id)).toEqual([ids[0]]);
    expect(second.cursor).toBeUndefined();
  });

  it('takes a range of time, a key, and an id', async () => {
    expect((await page('--from', '-1h')).jobs).toHaveLength(3);
    expect((await page('--to', '-1h')).jobs).toHaveLength(0);
    expect((await page('--key', 'order-7')).jobs.map(({ id }) => id)).toEqual([ids[0]]);
    expect((await page('--id', ids[2]!)).jobs.map(({ id }) => id)).toEqual([ids[2]]);
  });

  it('shows lines for people', async () => {
    const { code, stdout } = await suite.nestDq(['finished', TUBE, '--limit', '2']);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      new RegExp(
        `^KEY OR ID +ENDED +TOOK +RUNS +PROCESS\n${ids[2]!} +.+ +1 +${PROCESS}\norder-8 +.+\n… and more: --cursor \\S+\n$`,
      ),
    );
  });

  it('ends with 1 if there is no such job, and refuses two names and a wrong cursor', async () => {
    const none = await suite.nestDq(['finished', TUBE, '--key', 'order-10']);
    expect([none.code, none.stdout]).toEqual([1, 'no completed jobs are kept that match\n']);
    const two = await suite.nestDq(['finished', TUBE, '--key', 'a', '--id', 'b']);
    expect([two.code, two.stderr]).toEqual([2, expect.stringContaining('expected either --key or --id')]);
    const cursor = await suite.nestDq(['finished', TUBE, '--cursor', 'x']);
    expect([cursor.code, cursor.stderr]).toEqual([2, expect.stringContaining('`cursor` is "x"')]);
  });
});

describe('of a job that the ledger has forgotten', () => {
  const job = ['--tube', TUBE, '--key', 'order-7'];

  it('nest-dq find shows its end', async () => {
    const { code, stdout } = await suite.nestDq(['find', ...job]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^state +done$/m);
    expect(stdout).toMatch(new RegExp(`^process +${PROCESS}$`, 'm'));
    const { stdout: json } = await suite.nestDq(['find', ...job, '--json']);
    expect(JSON.parse(json)).toMatchObject({ id: ids[0], state: 'done', attempt: 1 });
  });

  it('nest-dq explain says when, where and how it ended', async () => {
    const { code, stdout } = await suite.nestDq(['explain', ...job]);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Completed at \\S+ in process ${PROCESS}, attempt 1, took .+\\.\n`));
    expect(stdout).toMatch(/^ended +\S+ \(.+\), took .+$/m);
  });
});
