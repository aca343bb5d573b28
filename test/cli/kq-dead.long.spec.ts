// The command `nest-kq` as it was built, with a real broker.
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import { COMMANDS } from 'nest-kq/src/cli/commands.js';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { startKafka, type KafkaServer } from 'test-servers';
import { CommandHosts, type Ran } from './command-hosts.js';

jest.setTimeout(120_000);

const PROGRAM = join(import.meta.dirname, '..', '..', 'packages', 'nest-kq', 'bin', 'nest-kq.js');
const DEAD = 'orders.dead';
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

let server: KafkaServer;
let driver: KafkajsDriver;
let folder: string;
let hosts: CommandHosts;
beforeAll(async () => {
  server = await startKafka();
  driver = new KafkajsDriver({ brokers: [server.endpoint], clock: systemClock, log: silent });
  await driver.admin.createTopics(['orders', DEAD].map((topic) => ({ topic, partitions: 1 })));
  folder = await mkdtemp(join(tmpdir(), 'nest-kq-cli-'));
  await symlink(PROGRAM, join(folder, 'nest-kq'));
  hosts = new CommandHosts('nest-kq', folder, { KQ_BROKERS: server.endpoint });
});
afterAll(async () => {
  hosts.stop();
  await driver.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

function shell(line: string): Promise<Ran> {
  return new Promise((resolve) => {
    const PATH = `${folder}:${process.env['PATH']}`;
    const options = { cwd: folder, env: { ...process.env, KQ_BROKERS: server.endpoint, PATH } };
    execFile('/bin/sh', ['-c', line], options, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr });
    }).stdin!.end();
  });
}

const nestKq = (args: readonly string[], env = {}) => hosts.run(args, env);

/** @returns Their offsets. */
async function bury(...errors: readonly string[]): Promise<bigint[]> {
  const letters = errors.map((error) => ({
    partition: 0,
    key: Buffer.from(`key of ${error}`),
    value: Buffer.from(`value of ${error}`),
    headers: {
      tenant: Buffer.from('a'),
      'kq-topic': Buffer.from('orders'),
      'kq-group': Buffer.from('shop'),
      'kq-error-name': Buffer.from('TypeError'),
      'kq-error-message': Buffer.from(error),
    },
  }));
  const sent = await driver.producer().send(DEAD, letters);
  return sent.map((each) => {
    if (each instanceof Error) throw each;
    return each.offset;
  });
}

async function countOf(topic: string): Promise<bigint> {
  return (await driver.admin.ends(topic))[0]!.end;
}

describe('nest-kq dead', () => {
  beforeEach(async () => {
    const { code } = await nestKq(['dead', 'discard', DEAD, '--yes']);
    expect(code).toBe(0);
  });

  it('lists the topics of dead letters that nest-kq has made', async () => {
    const topic = 'orders.shop.kq-dead';
    expect((await nestKq(['dead', 'topics'])).stdout).toBe('no dead-letter topics\n');
    await driver.admin.createTopics([{ topic, partitions: 1 }]);
    expect(await nestKq(['dead', 'topics'])).toMatchObject({ code: 0, stdout: `${topic}\n` });
    expect(JSON.parse((await nestKq(['dead', 'topics', '--json'])).stdout)).toEqual([topic]);
  });

  it('lists letters, as a table and as JSON', async () => {
    const [first, second] = await bury('no stock', 'no user');
    const { code, stdout } = await nestKq(['dead', 'list', DEAD]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      new RegExp(
        `^PARTITION  OFFSET +DIED +ORIGIN +GROUP +KEY +ERROR\n` +
          `0 +${second} +(now|\\d+s ago) +orders +shop +key of no user +TypeError: no user\n` +
          `0 +${first} .+ TypeError: no stock\n$`,
      ),
    );
    const json = await nestKq(['dead', 'list', DEAD, '--error', 'stock', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ letters: [{ offset: String(first), group: 'shop' }] });
    const page = JSON.parse((await nestKq(['dead', 'list', DEAD, '--limit', '1', '--json'])).stdout) as {
      cursor: string;
    };
    const next = await nestKq(['dead', 'list', DEAD, '--limit', '1', '--cursor', page.cursor, '--json']);
    expect(JSON.parse(next.stdout)).toMatchObject({ letters: [{ offset: String(first) }] });
  });

  it('shows one letter, and nothing that a terminal obeys', async () => {
    const [offset] = await bury('no \u001b[2Jstock');
    const place = ['--partition', '0', '--offset', String(offset)];
    for (const args of [
      ['show', ...place],
      ['list'],
      ['replay', ...place, '--dry-run'],
      ['show', ...place, '--json'],
    ]) {
      const [verb, ...rest] = args;
      const { code, stdout } = await nestKq(['dead', verb!, DEAD, ...rest]);
      expect(code).toBe(0);
      expect(stdout).toContain('u001b[2J');
      expect(stdout).not.toContain('\u001b');
    }
    const { stdout } = await nestKq(['dead', 'show', DEAD, ...place, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      value: 'value of no \u001b[2Jstock',
      headers: { tenant: ['a'] },
      resolved: false,
    });
    const gone = await nestKq(['dead', 'show', DEAD, '--partition', '0', '--offset', String(offset! + 1n)]);
    expect(gone).toMatchObject({
      code: 1,
      stdout: `partition 0, offset ${offset! + 1n} is not a dead letter\n`,
    });
  });

  it('replays nothing in a dry run, nor without --yes where there is no terminal', async () => {
    await bury('no stock', 'no user');
    const before = await countOf('orders');
    const dry = await nestKq(['dead', 'replay', DEAD, '--error', 'user', '--dry-run']);
    expect(dry).toMatchObject({ code: 0, stderr: '' });
    expect(dry.stdout).toMatch(/^would replay 1 dead letter of orders.dead\n {2}0\/\d+ .+ no user\n$/);
    const unsaid = await nestKq(['dead', 'replay', DEAD]);
    expect(unsaid.code).toBe(1);
    expect(unsaid.stdout).toMatch(/^would replay 2 dead letters .+\nnothing was done: expected --yes/s);
    const json = await nestKq(['dead', 'discard', DEAD, '--json']);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ dryRun: true, count: 2 });
    expect(await countOf('orders')).toBe(before);
  });

  it('replays one, then the rest, and each once', async () => {
    const [first] = await bury('one', 'two', 'three');
    const before = await countOf('orders');
    const one = ['dead', 'replay', DEAD, '--partition', '0', '--offset', String(first), '--yes'];
    expect(await nestKq(one)).toMatchObject({ code: 0, stdout: '1 done, 0 failed\n' });
    expect(await nestKq(one)).toMatchObject({
      code: 1,
      stdout: 'not a dead letter, or already replayed or discarded\n',
    });
    const rest = await nestKq(['dead', 'replay', DEAD, '--yes', '--json']);
    expect(JSON.parse(rest.stdout)).toEqual({ count: 2, failed: 0, failures: [] });
    expect(await countOf('orders')).toBe(before + 3n);
    expect((await nestKq(['dead', 'list', DEAD])).stdout).toBe('no dead letters\n');
  });

  it('says which letters could not be replayed', async () => {
    await bury('no stock');
    const { code, stdout } = await nestKq(['dead', 'replay', DEAD, '--groups', 'failed', '--yes']);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^0 done, 1 failed\n {2}0\/\d+: KQ_BAD_OPTION: the group shop has committed no offsets/,
    );
    expect((await nestKq(['dead', 'discard', DEAD, '--group', 'shop', '--yes'])).stdout).toBe(
      '1 done, 0 failed\n',
    );
  });
});

it('finds the brokers by a file, which others may not write, and by a flag before all', async () => {
  const path = join(folder, 'nest-kq.json');
  await writeFile(path, JSON.stringify({ brokers: ['localhost:1'] }));
  await chmod(path, 0o666);
  const { code, stderr } = await nestKq(['dead', 'list', DEAD, '--brokers', server.endpoint], {
    KQ_BROKERS: 'localhost:2',
  });
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^nest-kq: nest-kq.json is world-writable/)]);
  await rm(path);
});

it.each<[string, readonly string[], RegExp]>([
  ['no command', [], /^nest-kq COMMAND \[OPTIONS\]\n/],
  ['no topic', ['dead', 'list'], /dead list: missing TOPIC\./],
  ['a wrong topic', ['dead', 'list', 'a b'], /KQ_BAD_TOPIC/],
  ['a wrong cursor', ['dead', 'list', DEAD, '--cursor', 'x'], /`cursor` is 'x'.* \(KQ_BAD_OPTION\)/],
  ['a wrong time', ['dead', 'list', DEAD, '--from', '-1 year'], /--from: invalid duration "1 year"/],
  ['half a place', ['dead', 'replay', DEAD, '--offset', '1'], /expected both --partition and --offset/],
  [
    'a place and a filter',
    ['dead', 'discard', DEAD, '--offset', '1', '--partition', '0', '--key', 'k'],
    /not both/,
  ],
  ['no place', ['dead', 'show', DEAD], /expected --partition and --offset/],
  ['a wrong broker', ['dead', 'list', DEAD, '--brokers', 'x'], /`brokers\[0\]` is 'x': expected host:port/],
  ['a login without its password', ['dead', 'list', DEAD, '--sasl-username', 'ann'], /KQ_SASL_PASSWORD/],
])('ends with 2 and says what was wrong with %s', async (_name, args, expected) => {
  const { code, stderr, stdout } = await nestKq(args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(expected);
  expect(stderr).toMatch(/Run `nest-kq help.*` for/);
});

it('ends with 1 for a missing topic', async () => {
  const { code, stderr } = await nestKq(['dead', 'list', 'none']);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^nest-kq: .* \(KQ_UNKNOWN_TOPIC\)$/m)]);
});

it.each(Object.keys(COMMANDS))('%s has a help with examples that work', async (name) => {
  const { examples } = await COMMANDS[name]!();
  const { code, stdout } = await nestKq([...name.split(' '), '--help']);
  expect(code).toBe(0);
  for (const example of examples) {
    expect(stdout).toContain(`  ${example}\n`);
    const [offset] = await bury('ETIMEDOUT');
    await driver.admin.setCommitted('shop', 'orders', [{ partition: 0, offset: 0n }]);
    const line = example
      .replace('--offset 12', `--offset ${offset}`)
      .replace('localhost:9092', server.endpoint);
    const ran = await shell(line);
    expect([line, ran.code, ran.stderr]).toEqual([line, 0, '']);
    if (example.includes('--json')) expect(() => JSON.parse(ran.stdout) as unknown).not.toThrow();
  }
});
