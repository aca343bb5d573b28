import { beforeAll, describe, expect, it } from '@jest/globals';
import { ask, eventually, startBeanstalkd } from 'test-servers';
import { cliSuite } from './cluster-suite.js';

const suite = cliSuite();
const TUBE = 'mail.welcome';
const JOBS = 6;

beforeAll(async () => {
  const { system } = suite;
  for (let i = 0; i < JOBS; i++) await system.producer.delay(TUBE, i, '1h');
  const areListed = async () => (await system.inspector.jobs(TUBE)).listed === JOBS;
  await eventually('the jobs are listed', areListed);
});

describe('nest-dq repair', () => {
  it('has nothing to do where all copies are there', async () => {
    expect(await suite.nestDq(['repair'])).toEqual({
      code: 0,
      stdout: '0 done, 0 failed, 0 skipped\n',
      stderr: '',
    });
  });

  it('says if a node does not answer, whose copies count, and ends with 1', async () => {
    const nodes = `${suite.env['DQ_BEANSTALKS']},127.0.0.1:1`;
    const { code, stdout, stderr } = await suite.nestDq(['repair', '--dry-run', '--beanstalks', nodes]);
    expect([code, stdout]).toEqual([1, 'would restore missing copies of 0 jobs\n']);
    expect(stderr).toMatch(
      /^nest-dq: some nodes do not answer, so their copies count, .*: 127\.0\.0\.1:1\n$/,
    );
  });

  it.each([
    [['--node', '127.0.0.1:1'], 'DQ_BAD_OPTION'],
    [['--tube', 'a b'], 'DQ_BAD_TUBE'],
    [['--due-after', '5'], '--due-after: invalid duration "5": no unit'],
  ])('%j is refused', async (args, message) => {
    const { code, stderr } = await suite.nestDq(['repair', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('counts the jobs that have a copy on a drained node, asks, and moves these copies to others', async () => {
    const { system, servers } = suite;
    const extra = await startBeanstalkd();
    try {
      // A node more, which the process of the suite does not know.
      const env = { DQ_BEANSTALKS: `${suite.env['DQ_BEANSTALKS']},${extra.endpoint}` };
      const drained = servers.beanstalkds[0]!.endpoint;
      await suite.nestDq(['node', 'drain', drained]);
      const counted = await suite.nestDq(['repair', '--tube', TUBE, '--dry-run', '--json'], env);
      expect(JSON.parse(counted.stdout)).toMatchObject({
        dryRun: true,
        count: JOBS,
        examples: { length: JOBS },
      });
      const shown = await suite.nestDq(['repair', '--dry-run'], env);
      expect(shown.stdout).toMatch(
        new RegExp(
          `^would restore missing copies of ${JOBS} jobs\n  ${TUBE} \\w{26}  1 copy missing, due \\S+Z \\(in 59m`,
        ),
      );
      const refused = await suite.nestDq(['repair'], env);
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining(`would restore missing copies of ${JOBS} jobs: expected --yes`),
      ]);
      const done = await suite.nestDq(['repair', '--yes'], env);
      expect(done).toMatchObject({ code: 0, stdout: `${JOBS} done, 0 failed, 0 skipped\n` });
      expect((await ask(extra, `stats-tube ${TUBE}`)).includes(`current-jobs-delayed: ${JOBS}\n`)).toBe(true);
      expect((await suite.nestDq(['repair', '--dry-run'], env)).stdout).toBe(
        'would restore missing copies of 0 jobs\n',
      );
      expect((await system.inspector.jobs(TUBE)).listed).toBe(JOBS);
    } finally {
      await extra.stop();
    }
  });
});
