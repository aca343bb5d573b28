import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { ask, eventually, nodeStats, startBeanstalkd, startRedis } from 'test-servers';
import { cliSuite, TUBE } from './cluster-suite.js';

const suite = cliSuite();
const KEY = { tube: TUBE, key: 'order-42' };
const BY_KEY = ['--tube', TUBE, '--key', 'order-42'];
const DEAD = ['--tube', TUBE, '--key', 'order-13'];

beforeEach(() => suite.prepare());

async function json(...args: string[]): Promise<unknown> {
  return JSON.parse((await suite.nestDq([...args, '--json'])).stdout);
}

describe('nest-dq find', () => {
  it('shows a job by its reference and by its key', async () => {
    const job = await suite.system.producer.find(KEY);
    const expected = { ...job!, dueAt: job!.dueAt.toISOString() };
    expect(await json('find', ...BY_KEY)).toEqual(expected);
    expect(await json('find', job!.ref)).toEqual({ ...expected, ref: job!.ref });
    const { stdout } = await suite.nestDq(['find', ...BY_KEY]);
    expect(stdout).toMatch(/^key +order-42$/m);
    for (const command of ['find', 'explain']) {
      for (const by of [[job!.ref], ['--tube', TUBE, '--id', job!.id]])
        expect((await suite.nestDq([command, ...by])).stdout).toMatch(/^key +order-42$/m);
    }
    expect(stdout).toMatch(/^due +\d{4}-\d\d-\d\dT[\d:]{8}Z \(in (59m \d+s|1h)\)$/m);
  });

  it('shows a job without a key by its id', async () => {
    const { id, ref } = await suite.system.producer.delay(TUBE, 1, '1h');
    const isListed = async () => (await suite.system.inspector.jobs(TUBE)).jobs.some((job) => job.id === id);
    await eventually('the job is listed', isListed);
    expect(await json('find', '--tube', TUBE, '--id', id)).toMatchObject({ id, state: 'waiting' });
    expect((await suite.nestDq(['revoke', '--tube', TUBE, '--id', id])).stdout).toBe(
      `${TUBE} ${id}: revoked\n`,
    );
    expect(await suite.system.producer.find(ref)).toMatchObject({ state: 'revoked' });
  });

  it('shows how far the run of a job is, and so do explain and running', async () => {
    const tube = 'report.build';
    const { consumer, producer, inspector } = suite.system;
    let finish!: () => void;
    const mayEnd = new Promise<void>((resolve) => (finish = resolve));
    const consumption = await consumer.consume(tube, (_payload, job) => {
      job.progress(0.4, 'page 12 of 30');
      return mayEnd;
    });
    const { ref } = await producer.now(tube, {}, { key: 'report-7' });
    await eventually('it is listed with its progress', async () => {
      const loads = (await inspector.processes()).flatMap(({ tubes }) => tubes);
      return loads.some(({ longRuns }) => longRuns[0]?.progress !== undefined);
    });
    const progress = { fraction: 0.4, note: 'page 12 of 30', at: expect.any(String) };
    expect(await json('find', ref)).toMatchObject({ state: 'running', progress });
    expect(await json('explain', ref)).toMatchObject({ because: 'running', progress });
    expect(await json('running', tube)).toMatchObject({ runs: [{ key: 'report-7', progress }] });
    for (const command of ['find', 'explain'])
      expect((await suite.nestDq([command, ref])).stdout).toMatch(
        /^progress +40 % page 12 of 30 \(.+ ago\)$/m,
      );
    expect((await suite.nestDq(['running', tube])).stdout).toMatch(/ 40 % page 12 of 30$/m);
    finish();
    await consumption.stop();
  });

  it('ends with status 1 if nothing is known', async () => {
    expect(await suite.nestDq(['find', '--tube', TUBE, '--key', 'none'])).toEqual({
      code: 1,
      stdout: `unknown job: ${TUBE} none\n`,
      stderr: '',
    });
  });
});

describe('nest-dq revoke, move, run', () => {
  it('revoke revokes, and says with status 1 what cannot be revoked', async () => {
    expect(await suite.nestDq(['revoke', ...BY_KEY])).toEqual({
      code: 0,
      stdout: `${TUBE} order-42: revoked\n`,
      stderr: '',
    });
    expect((await suite.system.producer.find(KEY))?.state).toBe('revoked');
    expect(await suite.nestDq(['revoke', ...DEAD])).toMatchObject({
      code: 1,
      stdout: `${TUBE} order-13: dead\n`,
    });
  });

  it('move moves to an instant, and to a time from now', async () => {
    expect(await json('move', ...BY_KEY, '--to', '2030-01-01T00:00:00Z')).toEqual({ result: 'rescheduled' });
    expect((await suite.system.producer.find(KEY))?.dueAt).toEqual(new Date('2030-01-01T00:00:00Z'));
    const ref = (await suite.system.producer.find(KEY))!.ref;
    expect((await suite.nestDq(['move', ref, '--to', '2d'])).stdout).toMatch(
      /^order\.cancel order-42: rescheduled to \S+Z \(in (1d 23h|2d)\)\n$/,
    );
    const dueAt = (await suite.system.producer.find(KEY))!.dueAt.getTime();
    expect(Math.abs(dueAt - Date.now() - 2 * 86_400_000)).toBeLessThan(60_000);
  });

  it('run has the job run now', async () => {
    expect(await suite.nestDq(['run', ...BY_KEY])).toMatchObject({
      code: 0,
      stdout: `${TUBE} order-42: rescheduled to now\n`,
    });
    const isDone = async () => (await suite.system.producer.find(KEY))?.state === 'done';
    await eventually('it ran', isDone);
  });
});

describe('nest-dq pause and resume', () => {
  const MAILS = 'mail.welcome';
  it('pause a tube until a time or for good, and end the pause', async () => {
    const until = new Date(Date.now() + 7_200_000).toISOString();
    expect(await json('pause', MAILS, '--force', '--until', until)).toEqual({
      tube: MAILS,
      since: expect.any(String),
      until,
      unknown: true,
    });
    expect((await suite.nestDq(['pause', MAILS, '--until', '3h'])).stdout).toMatch(
      /^mail\.welcome: paused until \S+Z \(in (2h 59m|3h)\)\n$/,
    );
    expect((await suite.nestDq(['pause', MAILS])).stdout).toBe(`${MAILS}: paused until it is resumed\n`);
    expect(await json('resume', MAILS)).toEqual({ tube: MAILS, ended: { since: expect.any(String) } });
    expect(await json('resume', MAILS)).toEqual({ tube: MAILS, ended: null, unknown: true, similar: [] });
    expect(await suite.nestDq(['resume', MAILS])).toMatchObject({
      code: 1,
      stdout: `${MAILS}: was not paused\n`,
    });
  });

  it('let what came due run after the end', async () => {
    await suite.nestDq(['pause', TUBE]);
    try {
      await suite.system.producer.now(TUBE, 1, { key: 'held-up' });
      const ref = { tube: TUBE, key: 'held-up' };
      expect((await suite.system.producer.find(ref))?.state).toBe('waiting');
      expect((await suite.nestDq(['resume', TUBE])).stdout).toMatch(
        /^order\.cancel: resumed; it was paused (now|\d+s ago)\n$/,
      );
      const isDone = async () => (await suite.system.producer.find(ref))?.state === 'done';
      await eventually('it ran', isDone);
    } finally {
      await suite.system.control.resume(TUBE);
    }
  });

  it('resume gradually, and leave a tube paused in a dry run', async () => {
    const tube = 'mail.gradual';
    await suite.nestDq(['pause', tube, '--force']);
    const { producer, inspector, control } = suite.system;
    const before = Date.now();
    await producer.addMany(
      tube,
      Array.from({ length: 3 }, () => ({ payload: 1, delay: 0 })),
    );
    await eventually('they are listed', async () => (await inspector.jobs(tube)).listed === 3);
    await eventually('they are overdue', async () => (await inspector.tube(tube)).overdue === 3);
    const dry = await suite.nestDq(['resume', tube, '--per-minute', '1', '--dry-run']);
    expect(dry.stdout).toMatch(
      /^would spread 3 overdue jobs of mail\.gradual, caught up at \S+ \(.+\), and resume it\n/,
    );
    const refused = await suite.nestDq(['resume', tube, '--per-minute', '1']);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('would spread 3 overdue jobs'),
    ]);
    expect(await control.pause(tube)).toHaveProperty('since');
    expect(await json('resume', tube, '--per-minute', '1', '--yes')).toMatchObject({ done: 3, failed: 0 });
    const { jobs } = await inspector.jobs(tube);
    const dues = jobs.map(({ dueAt }) => dueAt.getTime());
    expect(dues[0]).toBeGreaterThanOrEqual(before);
    expect(dues.map((due) => due - dues[0]!)).toEqual([0, 60_000, 120_000]);
    expect(await json('resume', tube)).toMatchObject({ ended: null });
    await suite.nestDq(['pause', tube]);
    await json('resume', tube, '--per-minute', '600', '--yes');
    expect(await json('resume', tube)).toMatchObject({ ended: null });
    const wrong = await suite.nestDq(['resume', tube, '--dry-run']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--dry-run needs --per-minute')]);
  });

  it('refuse an end in the past', async () => {
    const { code, stderr } = await suite.nestDq(['pause', TUBE, '--until', '-1h']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('expected a time in the future; `nest-dq resume` ends a pause'),
    ]);
  });
});

describe('nest-dq dead', () => {
  it('lists letters, and pages through them', async () => {
    await suite.system.producer.now(TUBE, { bad: true }, { key: 'order-14' });
    const isDead = async () =>
      (await suite.system.producer.find({ tube: TUBE, key: 'order-14' }))?.state === 'dead';
    await eventually('it is dead', isDead);
    const first = (await json('dead', 'list', TUBE, '--limit', '1')) as { letters: object[]; cursor: string };
    expect(first).toMatchObject({ letters: [{ key: 'order-14', why: 'discarded', payload: { bad: true } }] });
    expect(await json('dead', 'list', TUBE, '--limit', '1', '--cursor', first.cursor)).toMatchObject({
      letters: [{ key: 'order-13' }],
    });
    const { stdout } = await suite.nestDq(['dead', 'list', TUBE]);
    expect(stdout).toMatch(
      /^KEY OR ID +DIED +RUNS +WHY +ERROR\norder-14 +\S.* +1 +discarded +the order has no user$/m,
    );
  });

  it('shows, revives and discards one', async () => {
    expect(await json('dead', 'show', ...DEAD)).toMatchObject({
      payload: { order: 13, bad: true },
      attempt: 1,
    });
    expect(await json('dead', 'revive', ...DEAD, '--delay', '10m')).toEqual({ result: 'revived' });
    expect((await suite.nestDq(['dead', 'show', ...DEAD])).code).toBe(1);
    expect(await suite.nestDq(['dead', 'discard', ...DEAD])).toMatchObject({
      code: 1,
      stdout: `${TUBE} order-13: waiting\n`,
    });
    await suite.prepare();
    expect(await json('dead', 'discard', ...DEAD)).toEqual({ result: 'discarded' });
  });
});

it('a command that only reads consumes nothing and leaves nothing behind', async () => {
  const [node, redis] = await Promise.all([startBeanstalkd(), startRedis()]);
  try {
    const env = { DQ_BEANSTALKS: node.endpoint, DQ_REDIS: redis.url };
    for (const args of [['find', ...BY_KEY], ['dead', 'list', TUBE], ['doctor']])
      await suite.nestDq(args, env);
    const stats = await nodeStats(node);
    for (const command of ['put', 'watch', 'reserve', 'reserve-with-timeout', 'delete', 'kick'])
      expect([command, stats(`cmd-${command}`)]).toEqual([command, 0]);
    expect(stats('cmd-stats')).toBeGreaterThan(0);
    expect(await ask(redis, 'DBSIZE')).toBe(':0');
  } finally {
    await Promise.all([node.stop(), redis.stop()]);
  }
});

describe('the connection', () => {
  const NONE = { DQ_BEANSTALKS: '', DQ_REDIS: '' };

  it('is found by flags, by the environment, and by a file, in this order', async () => {
    const { servers, env, folder } = suite;
    const nodes = servers.beanstalkds.map(({ endpoint }) => endpoint);
    const flags = ['--beanstalks', nodes.join(', '), '--redis', servers.redis.url];
    const wrong = { DQ_BEANSTALKS: '127.0.0.1:1', DQ_REDIS: 'redis://127.0.0.1:1' };
    expect((await suite.nestDq(['find', ...BY_KEY, ...flags], wrong)).code).toBe(0);
    const file = join(folder, 'nest-dq.json');
    try {
      await writeFile(
        file,
        JSON.stringify({ beanstalks: nodes, redis: servers.redis.url, advanced: { lease: '15s' } }),
      );
      expect((await suite.nestDq(['find', ...BY_KEY], NONE)).code).toBe(0);
      await writeFile(file, JSON.stringify({ beanstalks: ['127.0.0.1:1'], redis: 'redis://127.0.0.1:1' }));
      expect((await suite.nestDq(['find', ...BY_KEY], env)).code).toBe(0);
    } finally {
      await rm(file);
    }
  });

  it.each([
    [[], NONE, 'No beanstalks given: expected --beanstalks, DQ_BEANSTALKS, or a file'],
    [['--beanstalks', 'a'], {}, '`beanstalks[0]` is "a": expected \'host:port\' with a port'],
    [['--redis', 'http://x'], {}, '`redis` has the scheme http: expected redis://… or rediss://…'],
    [['--config', 'none.json'], {}, 'Cannot read none.json: ENOENT'],
  ] as const)('that is wrong is refused: %j', async (args, env, message) => {
    const ran = await suite.nestDq(['find', ...BY_KEY, ...args], env);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(`nest-dq: ${message}`);
  });

  it('that a file describes wrongly is refused', async () => {
    const file = join(suite.folder, 'wrong.json');
    await writeFile(file, JSON.stringify({ concurrency: 5 }));
    const { code, stderr } = await suite.nestDq(['find', ...BY_KEY, '--config', file]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      'option `concurrency` is not supported on the command line: expected one of beanstalks',
    );
  });

  it('that fails ends with status 2 and the one reason', async () => {
    for (const command of ['find', 'revoke']) {
      const ran = await suite.nestDq([command, ...BY_KEY, '--redis', 'redis://127.0.0.1:1']);
      expect(ran).toEqual({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(
          /^(nest-dq: no process .*\n)?nest-dq: Redis unusable from here: connect ECONNREFUSED 127\.0\.0\.1:1(; tried \d+ times in \d\.\d s)? → check the address, password and permissions that this command was given: the application reports no outage\n$/,
        ),
      });
    }
  });

  it.each([
    [['find'], 'find: no job given: expected REF, or --tube TUBE with --key KEY or --id ID.'],
    [['find', '--id', 'x'], 'find: no job given'],
    [['find', ...BY_KEY, '--id', 'x'], 'find: job given twice'],
    [['find', 'dq1.x', ...BY_KEY], 'find: job given twice'],
    [['find', 'dq1.x'], 'find: the reference dq1.x is cut off or altered.'],
    [['revoke', 'x'], 'revoke: x is not a reference; for a key: --tube TUBE --key x.'],
    [['move', ...BY_KEY, '--to', '2020-01-01T00:00:00Z'], 'move: --to is 2020-01-01T00:00:00Z ('],
    [['find', '--tube', 'a b', '--key', 'k'], 'the tube is "a b"'],
    [['move', ...BY_KEY], 'move: missing --to'],
    [
      ['move', ...BY_KEY, '--to', '2026-12-24'],
      '--to: invalid value "2026-12-24": expected a time with a zone',
    ],
    [['dead', 'list'], 'dead list: missing TUBE.'],
    [
      ['dead', 'list', TUBE, '--limit', '5000'],
      '--limit: invalid value "5000": expected a whole number from 1 to 1000.',
    ],
  ])('%j is refused', async (args, message) => {
    const ran = await suite.nestDq(args);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(`nest-dq: ${message}`);
  });
});
