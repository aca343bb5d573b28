import { beforeEach, describe, expect, it } from '@jest/globals';
import { stored } from 'nest-dq/spec-support/stored.js';
import { eventually } from 'test-servers';
import { cliSuite, TUBE } from './cluster-suite.js';

const suite = cliSuite();

async function letters(): Promise<number> {
  const page = await suite.system.ledger.tube(stored(TUBE)).letters({ limit: 250, after: undefined });
  return page.letters.length;
}

beforeEach(async () => {
  await suite.prepare();
  const before = await letters();
  for (let i = 0; i < 4; i++) await suite.system.producer.now(TUBE, { i, bad: true });
  await eventually('they are dead', async () => (await letters()) === before + 4);
});

describe('nest-dq dead discard-many', () => {
  const DISCARD = ['dead', 'discard-many', TUBE];

  it('counts in a dry run, and changes nothing', async () => {
    const before = await letters();
    const { stdout } = await suite.nestDq([...DISCARD, '--why', 'discarded', '--dry-run', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ dryRun: true, count: before });
    const none = await suite.nestDq([...DISCARD, '--error', 'something else', '--dry-run']);
    expect(none).toEqual({ code: 0, stdout: `would discard 0 dead letters of ${TUBE}\n`, stderr: '' });
    expect(await letters()).toBe(before);
  });

  it('refuses without --yes where there is no terminal, and prints the number', async () => {
    const before = await letters();
    const { code, stdout, stderr } = await suite.nestDq([...DISCARD, '--limit', '2']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(
      `nest-dq: dead discard-many: would discard 2 dead letters of ${TUBE}: expected --yes, since there is no terminal to confirm on.`,
    );
    expect(await letters()).toBe(before);
  });

  it('asks on a terminal, and does nothing unless the answer is yes', async () => {
    const before = await letters();
    const refused = await suite.onTerminal([...DISCARD, '--limit', '2'], '[y/N]', 'no\n');
    expect(refused).toContain(`This will discard 2 dead letters of ${TUBE}. Continue? [y/N]`);
    expect(refused).toMatch(/nothing was done\s+status 1$/);
    expect(await letters()).toBe(before);
    expect(await suite.onTerminal([...DISCARD, '--limit', '2'], '[y/N]', 'y\n')).toMatch(
      /2 done, 0 failed, 0 skipped\s+status 0$/,
    );
    expect(await letters()).toBe(before - 2);
  });

  it('does it with --yes, prints its progress apart from the answer, and has nothing to ask about none', async () => {
    const before = await letters();
    const all = await suite.nestDq([...DISCARD, '--yes', '--json']);
    expect(JSON.parse(all.stdout)).toEqual({ done: before, failed: 0, skipped: 0, failures: [] });
    expect(all.stderr).toMatch(
      new RegExp(`^nest-dq: if interrupted, resume with --cursor \\S+\nnest-dq: ${before} of ${before}\n$`),
    );
    expect(await letters()).toBe(0);
    expect(await suite.nestDq(DISCARD)).toMatchObject({ code: 0, stdout: '0 done, 0 failed, 0 skipped\n' });
  });

  it.each([
    [['--why', 'old'], '--why: invalid value "old": expected one of attempts, discarded, invalid, stale.'],
    [['--from', 'monday'], '--from: invalid value "monday": expected a time with a zone'],
    [['--limit', '0'], '--limit: invalid value "0": expected a whole number from 1'],
    [['--from', '1h', '--to', '-1h'], 'expected --to to be later'],
  ])('%j is refused', async (args, message) => {
    const { code, stderr } = await suite.nestDq([...DISCARD, '--yes', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

it('nest-dq dead revive-many revives those that the filter means', async () => {
  const before = await letters();
  const args = ['dead', 'revive-many', TUBE, '--error', 'no user', '--limit', '3', '--delay', '1h', '--yes'];
  expect((await suite.nestDq([...args, '--json'])).code).toBe(0);
  expect(await letters()).toBe(before - 3);
});

it('nest-dq dead groups prints the letters by error, and dead discard-many takes one group', async () => {
  await suite.system.producer.now(TUBE, { bad: true, because: 'card 4711 is blocked' });
  await suite.system.producer.now(TUBE, { bad: true, because: 'card 12 is blocked' });
  const group = 'Discard: card … is blocked';
  const groups = async (...args: string[]) => {
    const { stdout } = await suite.nestDq(['dead', 'groups', ...args, '--json']);
    return (JSON.parse(stdout) as { groups: { group: string; letters: number }[] }).groups;
  };
  await eventually('they are dead', async () =>
    (await groups()).some((each) => each.group === group && each.letters === 2),
  );
  const { stdout, code } = await suite.nestDq(['dead', 'groups', TUBE, '--error', 'IS Blocked']);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^LETTERS +TUBES +FIRST +LAST +GROUP\n +2 +order\.cancel +.+ +.+ +Discard: card … is blocked\n/,
  );
  expect(stdout).toContain('\n2 dead letters in 1 group\n');
  const discard = await suite.nestDq(['dead', 'discard-many', TUBE, '--group', group, '--yes', '--json']);
  expect(JSON.parse(discard.stdout)).toMatchObject({ done: 2, failed: 0 });
  expect((await groups()).map((each) => each.group)).toEqual(['Discard: the order has no user']);
  expect((await suite.nestDq(['dead', 'groups', '--error', 'blocked'])).stdout).toBe('no dead letters\n');
  expect(await suite.nestDq(['dead', 'groups', '--limit', '0'])).toMatchObject({ code: 2 });
});

describe('nest-dq dead list', () => {
  it('takes a filter, whose error may be in upper or lower case, and pages through the matches', async () => {
    const because = 'the customer is gone';
    for (let i = 0; i < 3; i++) {
      await suite.system.producer.now(TUBE, { bad: true, because }, { key: `gone-${i}` });
      const key = { tube: TUBE, key: `gone-${i}` };
      await eventually('it is dead', async () => (await suite.system.producer.find(key))?.state === 'dead');
    }
    const list = async (...args: string[]) => {
      const { code, stdout } = await suite.nestDq(['dead', 'list', TUBE, ...args, '--json']);
      expect(code).toBe(0);
      return JSON.parse(stdout) as { letters: { key?: string }[]; cursor?: string };
    };
    const first = await list('--error', 'CUSTOMER IS', '--limit', '2');
    expect(first.letters.map(({ key }) => key)).toEqual(['gone-2', 'gone-1']);
    const second = await list('--error', 'CUSTOMER IS', '--limit', '2', '--cursor', first.cursor!);
    expect(second.letters.map(({ key }) => key)).toEqual(['gone-0']);
    expect((await list('--why', 'stale')).letters).toEqual([]);
    expect((await list('--to', '-1h')).letters).toEqual([]);
    expect((await list('--from', '-1h', '--why', 'discarded')).letters.length).toBeGreaterThan(3);
    await suite.nestDq(['dead', 'discard-many', TUBE, '--yes']);
  });
});
