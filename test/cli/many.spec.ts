import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { cliSuite } from './cluster-suite.js';

const suite = cliSuite();
/** Nobody consumes it. */
const TUBE = 'mail.welcome';
const AT = Date.parse('2031-01-01T00:00:00Z');
/** Hours after AT. */
const HOURS = [0, 1, 2, 3];

beforeAll(async () => {
  for (const hour of HOURS) await suite.system.producer.at(TUBE, hour, new Date(AT + hour * 3_600_000));
  const areListed = async () => (await suite.system.inspector.jobs(TUBE)).listed === HOURS.length;
  await eventually('the jobs are listed', areListed);
});

async function dueAts(): Promise<string[]> {
  const { jobs } = await suite.system.inspector.jobs(TUBE);
  return jobs.map(({ dueAt }) => dueAt.toISOString().slice(0, 16));
}

const BEFORE = ['2031-01-01T00:00', '2031-01-01T01:00', '2031-01-01T02:00', '2031-01-01T03:00'];

describe('nest-dq move-many', () => {
  const LAST_TWO = ['move-many', TUBE, '--from', '2031-01-01T02:00:00Z'];

  it('counts in a dry run, and refuses without --yes where there is no terminal', async () => {
    const dry = await suite.nestDq([...LAST_TWO, '--later', '1d', '--dry-run']);
    expect(dry.stdout).toMatch(
      /^would move 2 waiting jobs of mail\.welcome\n {2}\w{26} {2}waiting, due 2031-01-01T02:00:00Z \(in /,
    );
    const { code, stderr } = await suite.nestDq([...LAST_TWO, '--later', '1d']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('would move 2 waiting jobs')]);
    expect(await dueAts()).toEqual(BEFORE);
  });

  it('moves those that the filter means: later, earlier, and to a time', async () => {
    const later = await suite.nestDq([...LAST_TWO, '--later', '1d', '--yes', '--json']);
    expect(JSON.parse(later.stdout)).toEqual({ done: 2, failed: 0, skipped: 0, failures: [] });
    expect(await dueAts()).toEqual([...BEFORE.slice(0, 2), '2031-01-02T02:00', '2031-01-02T03:00']);
    await suite.nestDq([...LAST_TWO, '--limit', '1', '--earlier', '1d', '--yes']);
    expect(await dueAts()).toEqual([...BEFORE.slice(0, 3), '2031-01-02T03:00']);
    await suite.nestDq([...LAST_TWO, '--at', '2032-01-01T00:00:00Z', '--yes']);
    expect(await dueAts()).toEqual([...BEFORE.slice(0, 2), '2032-01-01T00:00', '2032-01-01T00:00']);
  });

  it('spreads jobs evenly, none earlier, and shows how', async () => {
    const tube = 'mail.peak';
    const at = new Date(AT);
    await suite.system.producer.addMany(
      tube,
      Array.from({ length: 4 }, () => ({ payload: 1, at })),
    );
    const areListed = async () => (await suite.system.inspector.jobs(tube)).listed === 4;
    await eventually('they are listed', areListed);
    const dry = await suite.nestDq(['move-many', tube, '--spread', '20m', '--dry-run']);
    expect(dry.stdout).toMatch(
      /^would move 4 waiting jobs of mail\.peak, to 2031-01-01T00:00:00Z \(.+\) up to 2031-01-01T00:15:00Z \(.+\)\n {2}\w{26} {2}2031-01-01T00:00:00Z \(.+\) → 2031-01-01T00:00:00Z \(/,
    );
    const { stdout, stderr } = await suite.nestDq(['move-many', tube, '--spread', '20m', '--yes']);
    expect(stdout).toBe('4 done, 0 failed, 0 skipped\n');
    const dues = async () => {
      const { jobs } = await suite.system.inspector.jobs(tube);
      return jobs.map(({ dueAt }) => (dueAt.getTime() - AT) / 60_000);
    };
    expect(await dues()).toEqual([0, 5, 10, 15]);
    const [, cursor = ''] = /--cursor (\S+)\n/.exec(stderr)!;
    const again = await suite.nestDq(['move-many', tube, '--spread', '20m', '--yes', '--cursor', cursor]);
    expect(again.stdout).toMatch(/^\d done, 0 failed, 0 skipped\n$/);
    await suite.nestDq(['move-many', tube, '--from', '2031-01-01T00:10:00Z', '--per-minute', '1', '--yes']);
    expect(await dues()).toEqual([0, 5, 10, 15]);
  });

  it('continues from the cursor that it printed, and moves no job twice', async () => {
    const { stderr } = await suite.nestDq([...LAST_TWO, '--later', '1d', '--yes']);
    const [, cursor = ''] = /--cursor (\S+)\n/.exec(stderr)!;
    const moved = await dueAts();
    const again = await suite.nestDq([...LAST_TWO, '--later', '1d', '--yes', '--cursor', cursor]);
    expect(again.stdout).toBe('0 done, 0 failed, 0 skipped\n');
    expect(await dueAts()).toEqual(moved);
  });

  it.each([
    [[], 'move-many: expected one of --at, --later, --earlier, --spread and --per-minute, got 0.'],
    [
      ['--at', '1h', '--spread', '1h'],
      'move-many: expected one of --at, --later, --earlier, --spread and --per-minute, got 2.',
    ],
    [['--spread', '0s'], '`spread` is 0: expected a duration longer than 0'],
    [['--per-minute', '0'], '--per-minute'],
    [['--later', '5'], '--later: invalid duration "5": no unit'],
    [
      ['--later', '1h', '--state', 'dead'],
      '--state: invalid value "dead": expected one of waiting, retrying.',
    ],
  ])('%j is refused', async (args, message) => {
    const { code, stderr } = await suite.nestDq(['move-many', TUBE, ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

it('a dry run shows keys', async () => {
  await suite.system.producer.at('mail.keyed', 1, new Date(AT), { key: 'customer-7' });
  const isListed = async () => (await suite.system.inspector.jobs('mail.keyed')).listed === 1;
  await eventually('it is listed', isListed);
  const { stdout } = await suite.nestDq(['revoke-many', 'mail.keyed', '--dry-run']);
  expect(stdout).toBe(
    `would revoke 1 waiting job of mail.keyed\n  customer-7  waiting, due ${stdout.slice(stdout.indexOf('2031'))}`,
  );
});

describe('nest-dq revoke-many', () => {
  it('revokes those that the filter means', async () => {
    const before = await dueAts();
    const args = ['revoke-many', TUBE, '--to', '2031-01-01T01:00:00Z', '--yes'];
    expect(await suite.nestDq(args)).toMatchObject({ code: 0, stdout: '1 done, 0 failed, 0 skipped\n' });
    expect(await dueAts()).toEqual(before.slice(1));
  });
});
