import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ask } from 'test-servers';
import { cliSuite, TUBE } from './cluster-suite.js';

const suite = cliSuite();
/** Servers of the environment that nobody can reach: a context must not be mixed with them. */
const ELSEWHERE = { DQ_BEANSTALKS: '127.0.0.1:1', DQ_REDIS: 'redis://127.0.0.1:1', DQ_PREFIX: 'other.' };
const FIND = ['find', '--tube', TUBE, '--key', 'order-42'];

let file: string;
let home: Record<string, string>;

async function write(contexts: object): Promise<void> {
  await writeFile(file, JSON.stringify(contexts));
}

beforeAll(async () => {
  const config = join(suite.folder, 'config');
  await mkdir(join(config, 'nest-dq'), { recursive: true });
  file = join(config, 'nest-dq', 'contexts.json');
  home = { ...ELSEWHERE, XDG_CONFIG_HOME: config };
  await ask(suite.servers.redis, 'ACL SETUSER ops on >s3cr@t allkeys allchannels allcommands');
});

beforeEach(async () => {
  await suite.prepare();
  const { host, port } = suite.servers.redis;
  const beanstalks = suite.servers.beanstalkds.map(({ endpoint }) => endpoint);
  await write({ prod: { beanstalks, redis: `redis://ops:\${OPS_PASSWORD}@${host}:${port}` }, stage: {} });
  home['OPS_PASSWORD'] = 's3cr@t';
});

describe('a context', () => {
  it('names the servers, instead of the environment, by its flag and by DQ_CONTEXT', async () => {
    expect((await suite.nestDq(FIND, home)).code).toBe(2);
    expect(await suite.nestDq([...FIND, '--context', 'prod'], home)).toMatchObject({ code: 0, stderr: '' });
    expect((await suite.nestDq(FIND, { ...home, DQ_CONTEXT: 'prod' })).code).toBe(0);
    expect((await suite.nestDq([...FIND, '--context', 'prod', '--prefix', 'other.'], home)).code).toBe(1);
  });

  it('is named before an act, in the question, and by top', async () => {
    const moved = await suite.nestDq(['move', ...FIND.slice(1), '--to', '2h', '--context', 'prod'], home);
    expect(moved).toMatchObject({ code: 0, stderr: expect.stringMatching(/^nest-dq: context prod\n/) });
    const many = await suite.nestDq(['revoke-many', TUBE, '--context', 'prod'], home);
    expect([many.code, many.stderr]).toEqual([
      2,
      expect.stringMatching(
        /would revoke \d+ waiting jobs? of order\.cancel in context prod: expected --yes/,
      ),
    ]);
    const top = await suite.nestDq(['top', '--count', '1', '--context', 'prod'], home);
    expect(top.stdout).toMatch(/^prod {2}\d\d:\d\d:\d\dZ {2}3 of 3 nodes up/);
  });

  it.each([
    [
      'that is unknown',
      ['--context', 'prd'],
      {},
      /Unknown context prd in .*contexts\.json\. Did you mean prod\?/,
    ],
    [
      'that is unknown',
      ['--context', 'xyz'],
      {},
      /Unknown context xyz in .*\. Expected one of prod, stage\./,
    ],
    [
      'without a variable',
      ['--context', 'prod'],
      { OPS_PASSWORD: '' },
      /`redis` refers to OPS_PASSWORD, which is not set/,
    ],
    [
      'without servers',
      ['--context', 'stage'],
      {},
      /Context stage has no `beanstalks`: expected it there, or --beanstalks\./,
    ],
    [
      'and a file',
      ['--context', 'prod', '--config', 'x'],
      {},
      /find: expected either --context or --config, not both\./,
    ],
    [
      'without a file',
      ['--context', 'prod'],
      { XDG_CONFIG_HOME: '/nowhere' },
      /Unknown context prod: there is no file \/nowhere\//,
    ],
  ])('%s is refused: %j', async (_case, args, env, message) => {
    const { code, stderr } = await suite.nestDq([...FIND, ...args], { ...home, ...env });
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });

  it.each([
    [{ redis: 'redis://ops:s3cr3t@h:1' }, '`redis` contains a secret'],
    [{ redis: 'redis://h:1?password=s3cr3t' }, '`redis` contains a secret'],
    [{ redis: { host: 'h', password: 's3cr3t' } }, '`redis.password` contains a secret'],
    [{ tls: { passphrase: 's3cr3t' } }, '`tls.passphrase` contains a secret'],
    [{ seal: { keys: { a: 's3cr3t' } } }, '`seal.keys.a` contains a secret'],
    [{ concurrency: 5 }, 'context prod: option `concurrency` is not supported'],
    ['text', 'context prod contains "text": expected an object'],
  ])('that is %j is refused, and no secret is shown', async (prod, message) => {
    await write({ prod });
    const { code, stderr } = await suite.nestDq([...FIND, '--context', 'prod'], home);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).not.toContain('s3cr3t');
  });
});
