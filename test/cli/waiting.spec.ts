import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { cliSuite } from './cluster-suite.js';

const suite = cliSuite();
/** Nobody consumes it. */
const TUBE = 'mail.welcome';
const AT = Date.parse('2031-01-01T00:00:00Z');
const ids: string[] = [];

beforeAll(async () => {
  for (const minutes of [0, 30, 31]) {
    const { id } = await suite.system.producer.at(TUBE, minutes, new Date(AT + minutes * 60_000));
    ids.push(id);
  }
  const areListed = async () => (await suite.system.inspector.jobs(TUBE)).listed === 3;
  await eventually('the jobs are listed', areListed);
});

interface Page {
  readonly jobs: readonly { id: string; state: string }[];
  readonly cursor?: string;
}

async function page(...args: string[]): Promise<Page> {
  return JSON.parse((await suite.nestDq(['jobs', TUBE, ...args, '--json'])).stdout) as Page;
}

describe('nest-dq jobs', () => {
  it('lists what waits, the first due first, page by page', async () => {
    const first = await page('--limit', '2');
    expect(first).toMatchObject({ jobs: [{ id: ids[0] }, { id: ids[1] }], listed: 3, about: 3 });
    const second = await page('--limit', '2', '--cursor', first.cursor!);
    expect(second.jobs).toEqual([
      expect.objectContaining({ id: ids[2], state: 'waiting', dueAt: '2031-01-01T00:31:00.000Z' }),
    ]);
    expect(second.cursor).toBeUndefined();
  });

  it('takes a filter', async () => {
    const { jobs } = await page('--from', '2031-01-01T00:10:00Z', '--to', '2031-01-01T00:31:00Z');
    expect(jobs.map(({ id }) => id)).toEqual([ids[1]]);
    expect((await page('--state', 'retrying')).jobs).toEqual([]);
  });

  it('shows lines for people', async () => {
    const { code, stdout } = await suite.nestDq(['jobs', TUBE, '--limit', '1']);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^KEY OR ID +STATE +DUE +RUNS\n\w{26} +waiting +2031-01-01T00:00:00Z \(in .+\) +0\n\nthe tube has 3 listed jobs of about 3\n… and more: --cursor \S+\n$/,
    );
  });

  it('refuses a wrong state, and a wrong cursor', async () => {
    const state = await suite.nestDq(['jobs', TUBE, '--state', 'dead']);
    expect([state.code, state.stderr]).toEqual([
      2,
      expect.stringContaining('--state: invalid value "dead": expected one of waiting, due, retrying.'),
    ]);
    const cursor = await suite.nestDq(['jobs', TUBE, '--cursor', 'x']);
    expect([cursor.code, cursor.stderr]).toEqual([2, expect.stringContaining('DQ_BAD_OPTION')]);
  });
});

describe('nest-dq due', () => {
  const HOUR = ['--from', '2031-01-01T00:00:00Z', '--buckets', '3'];

  it('counts what comes due, of a tube and of all', async () => {
    const { stdout } = await suite.nestDq(['due', TUBE, ...HOUR]);
    expect(stdout).toBe(
      [
        'FROM                  JOBS',
        `2031-01-01T00:00:00Z     1  ${'█'.repeat(20)}`,
        `2031-01-01T00:20:00Z     2  ${'█'.repeat(40)}`,
        'from 2031-01-01T00:00:00Z to 2031-01-01T01:00:00Z; 1 row without jobs before or after left out',
        'no process consumes it',
        '',
      ].join('\n'),
    );
    const { id } = await suite.system.producer.at('invoice.send', 1, new Date(AT));
    const isListed = async () => (await suite.system.inspector.jobs('invoice.send')).jobs[0]?.id === id;
    await eventually('it is listed', isListed);
    const all = await suite.nestDq(['due', ...HOUR, '--json']);
    expect(JSON.parse(all.stdout)).toMatchObject({
      buckets: [{ jobs: 2 }, { jobs: 2 }, { jobs: 0 }],
      away: [],
    });
  });

  it('ends with 1 if a node is away, as tubes may be missing', async () => {
    const nodes = `${suite.env['DQ_BEANSTALKS']},127.0.0.1:1`;
    const { code, stdout } = await suite.nestDq(['due', '--beanstalks', nodes]);
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/\ntubes may be missing, no answer from: 127\.0\.0\.1:1\n$/),
    ]);
  });

  it('refuses times in the wrong order', async () => {
    const { code, stderr } = await suite.nestDq(['due', TUBE, '--to', '-1h']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('expected a time after `from`')]);
  });
});
