// A name that nobody knows is a warning and status 1, not a list of zeros.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { cliSuite, TUBE } from './cluster-suite.js';

const suite = cliSuite();
const WRONG = 'order.cancle';
const WARNING = `nest-dq: nobody knows the tube ${WRONG}: no process consumes it, and it has no jobs and no dead letters. Did you mean ${TUBE}?\n`;

beforeAll(() => suite.prepare());

describe('a tube that nobody knows', () => {
  it.each([
    [['stats', WRONG]],
    [['jobs', WRONG]],
    [['due', WRONG]],
    [['history', WRONG]],
    [['finished', WRONG]],
    [['running', WRONG]],
    [['export', WRONG]],
    [['repair', '--tube', WRONG, '--dry-run']],
    [['dead', 'groups', WRONG]],
    [['dead', 'list', WRONG]],
    [['dead', 'discard-many', WRONG, '--dry-run']],
    [['dead', 'revive-many', WRONG, '--yes']],
    [['revoke-many', WRONG, '--dry-run']],
    [['move-many', WRONG, '--later', '1h', '--yes']],
  ])('is a warning and status 1 of %j, and no list of zeros', async (args) => {
    expect(await suite.nestDq(args)).toEqual({ code: 1, stdout: '', stderr: WARNING });
  });

  it.each([
    ['find'],
    ['explain'],
    ['revoke'],
    ['run'],
    ['dead', 'show'],
    ['dead', 'revive'],
    ['dead', 'discard'],
  ])('is the reason why %s %s knows no job there', async (...name) => {
    const { code, stderr } = await suite.nestDq([...name, '--tube', WRONG, '--key', 'order-42']);
    expect([code, stderr]).toEqual([1, WARNING]);
  });

  it('is not paused, as its name may be wrong', async () => {
    const { code, stdout, stderr } = await suite.nestDq(['pause', WRONG]);
    expect([code, stdout, stderr]).toEqual([
      1,
      `${WRONG}: not paused\n`,
      WARNING.replace('\n', ' To pause it in advance: --force\n'),
    ]);
  });

  it.each([['stats'], ['jobs'], ['finished'], ['due'], ['history'], ['running'], ['pause'], ['resume']])(
    'is one in the JSON of %s',
    async (name) => {
      const { code, stdout } = await suite.nestDq([name, WRONG, '--json']);
      expect([code, JSON.parse(stdout)]).toEqual([
        1,
        expect.objectContaining({ unknown: true, similar: [TUBE] }),
      ]);
    },
  );

  it('is known once it has a job, and nothing similar is suggested for another name', async () => {
    await suite.system.producer.delay('mail.welcome', 1, '1h');
    expect(await suite.nestDq(['jobs', 'mail.welcome'])).toMatchObject({ code: 0, stderr: '' });
    const { stderr } = await suite.nestDq(['jobs', 'nosuch.tube']);
    expect(stderr).toMatch(/^nest-dq: nobody knows the tube nosuch\.tube: .* no dead letters\.\n$/);
  });
});

it('an empty but known tube is no failure', async () => {
  expect(await suite.nestDq(['jobs', TUBE, '--state', 'retrying'])).toMatchObject({ code: 0, stderr: '' });
  expect(await suite.nestDq(['dead', 'list', TUBE, '--error', 'nothing like it'])).toMatchObject({
    code: 0,
    stdout: 'no dead letters\n',
    stderr: '',
  });
});

it('stats warns of a prefix that no tube has, with status 1', async () => {
  await suite.system.producer.delay('shop.mail', 1, '1h');
  const { code, stdout, stderr } = await suite.nestDq(['stats', '--prefix', 'shpo.']);
  expect([code, stdout]).toEqual([1, 'no tubes with jobs or consumers\n']);
  expect(stderr).toMatch(
    /^nest-dq: no tube begins with "shpo\.", but \d others: shop\. \(1\), .* → check --prefix: /,
  );
});

it.each([['skip'], ['remove']])('series %s suggests a series that was meant', async (act) => {
  const { series } = suite.system;
  await series.upsert('acme:digest', { tube: TUBE, every: '1h' });
  expect(await suite.nestDq(['series', act, 'acme:digset'])).toMatchObject({
    code: 1,
    stdout: 'acme:digset: unknown series. Did you mean acme:digest?\n',
  });
  await series.remove('acme:digest');
});

it.each([
  [['dead', 'list', TUBE]],
  [['dead', 'groups']],
  [['dead', 'revive-many', TUBE, '--dry-run']],
  [['finished', TUBE]],
])('%j refuses a start in the future, which would select nothing', async (args) => {
  const { code, stdout, stderr } = await suite.nestDq([...args, '--from', '5m']);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(
    /: --from is \S+ \(in .+\): expected a time in the past, such as -1h for an hour ago\.\n/,
  );
});

it('doctor warns of a prefix that no tube has, and names those that exist', async () => {
  await suite.system.producer.delay('shop.mail', 1, '1h');
  const { code, stdout } = await suite.nestDq(['doctor', '--prefix', 'shpo.']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^warning +prefix +no tube begins with "shpo\.", but \d others: shop\. \(1\), /m);
  expect(stdout).toMatch(/^ +→ check --prefix: it must be the option `prefix` of the application$/m);
  const right = await suite.nestDq(['doctor', '--prefix', 'shop.']);
  expect(right.stdout).not.toContain('no tube begins');
});
