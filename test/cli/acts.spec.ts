import { hostname, userInfo } from 'node:os';
import { beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from 'test-servers';
import { cliSuite, TUBE } from './cluster-suite.js';

const suite = cliSuite();
/** The name of the caller in reports to everybody. */
const ME = `${userInfo().username}@${hostname()}`;

beforeEach(() => suite.prepare());

it('nest-dq acts shows what the application and the program did, to other processes too', async () => {
  const { control, inspector } = suite.system;
  await control.pause(TUBE, { by: 'ann@example.com' });
  const acts = async () => (await inspector.acts()).acts;
  await eventually('the act of the application is stored', async () => (await acts()).length > 0);
  const [node] = suite.servers.beanstalkds;
  for (const line of [
    ['resume', TUBE],
    ['node', 'undrain', node!.endpoint],
    ['move', '--tube', TUBE, '--key', 'order-42', '--to', '2h'],
    ['revoke', '--tube', TUBE, '--key', 'order-42'],
    ['dead', 'discard', '--tube', TUBE, '--key', 'order-13'],
    ['revoke-many', TUBE, '--state', 'retrying', '--yes'],
  ])
    expect([line, (await suite.nestDq(line)).code]).toEqual([line, 0]);
  expect(
    (await acts()).map(({ by, act, on, count }) => [by, act, on.key ?? on.tube ?? on.node, count]),
  ).toEqual([
    [ME, 'discard', 'order-13', 1],
    [ME, 'revoke', 'order-42', 1],
    [ME, 'reschedule', 'order-42', 1],
    [ME, 'undrainNode', node!.endpoint, 0],
    [ME, 'resume', TUBE, 1],
    ['ann@example.com', 'pause', TUBE, 1],
  ]);
  const { code, stdout } = await suite.nestDq(['acts']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^WHEN +WHO +ACT +ON +CHANGED +ERROR$/m);
  expect(stdout).toMatch(/^\S+Z \(.+\) +ann@example\.com +pause +order\.cancel +1$/m);
  expect(stdout).toMatch(/^\S+Z \(.+\) +\S+ +revoke +order\.cancel order-42 +1$/m);
  const page = await suite.nestDq(['acts', '--limit', '2', '--json']);
  const { cursor } = JSON.parse(page.stdout);
  const next = await suite.nestDq(['acts', '--limit', '2', '--json', '--cursor', cursor]);
  expect([page, next].map((each) => JSON.parse(each.stdout).acts.map(({ act }: any) => act))).toEqual([
    ['discard', 'revoke'],
    ['reschedule', 'undrainNode'],
  ]);
});

it.each([
  [['--limit', '0'], 'expected a whole number from 1 to 1000'],
  [['--cursor', 'x'], '`cursor` is "x"'],
])('nest-dq acts %j is refused', async (args, message) => {
  const { code, stderr } = await suite.nestDq(['acts', ...args]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});

it('an act that cannot be stored goes well, and the program says so', async () => {
  const { host, port } = suite.servers.redis;
  const redis = new Redis({ host, port });
  const keys = [`~{${TUBE}}:*`, '~{:}:', '~{:}::ledger'];
  await redis.call('ACL', 'SETUSER', 'less', 'on', '>secret', ...keys, '+@all');
  redis.disconnect();
  await suite.system.control.pause(TUBE);
  const paused = await suite.nestDq(['resume', TUBE], { DQ_REDIS: `redis://less:secret@${host}:${port}` });
  expect(paused).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`${TUBE}: resumed`),
    stderr: 'nest-dq: Redis did not store 1 act, so `nest-dq acts` will be incomplete\n',
  });
});

it('nest-dq pause refuses a tube that nobody knows, unless it is forced to, and resume warns of it', async () => {
  const wrong = 'order.cancle';
  const warning = `nobody knows the tube ${wrong}: no process consumes it, and it has no jobs and no dead letters. Did you mean ${TUBE}?`;
  expect(await suite.nestDq(['pause', wrong])).toEqual({
    code: 1,
    stdout: `${wrong}: not paused\n`,
    stderr: `nest-dq: ${warning} To pause it in advance: --force\n`,
  });
  const json = await suite.nestDq(['pause', wrong, '--json']);
  expect([json.code, JSON.parse(json.stdout)]).toEqual([
    1,
    { tube: wrong, paused: false, unknown: true, similar: [TUBE] },
  ]);
  expect(await suite.nestDq(['resume', wrong])).toEqual({
    code: 1,
    stdout: `${wrong}: was not paused\n`,
    stderr: `nest-dq: ${warning}\n`,
  });
  const forced = await suite.nestDq(['pause', wrong, '--force', '--json']);
  expect([forced.code, JSON.parse(forced.stdout)]).toEqual([0, expect.objectContaining({ unknown: true })]);
  // A paused tube is known.
  expect((await suite.nestDq(['stats', wrong])).code).toBe(0);
  expect(await suite.nestDq(['resume', wrong])).toMatchObject({ code: 0, stderr: '' });
  expect((await suite.nestDq(['resume', TUBE])).stdout).toBe(`${TUBE}: was not paused\n`);
});
