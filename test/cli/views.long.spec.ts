import { beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { cliSuite, TUBE } from './cluster-suite.js';

const suite = cliSuite();

beforeEach(() => suite.prepare());

it('nest-dq nodes shows each node and Redis, and ends with 1 if one is away', async () => {
  const { endpoint } = suite.servers.beanstalkds[0]!;
  const well = await suite.nestDq(['nodes']);
  expect(well.code).toBe(0);
  expect(well.stdout).toMatch(new RegExp(`^${endpoint} +up +1\\.12 .* working$`, 'm'));
  expect(well.stdout).toMatch(/^127\.0\.0\.1:\d+ +up +7\.\S+ +master .* noeviction +yes +\d+ms$/m);
  const away = await suite.nestDq(['nodes', '--json', '--beanstalks', `${endpoint},127.0.0.1:1`]);
  expect(away.code).toBe(1);
  expect(JSON.parse(away.stdout)).toMatchObject({
    nodes: [
      { endpoint, up: true },
      { endpoint: '127.0.0.1:1', up: false },
    ],
    ledger: { kind: 'redis', up: true },
  });
});

describe('nest-dq stats', () => {
  it('shows each tube, and whether someone consumes it', async () => {
    await suite.system.producer.delay('orphan', 1, '1h');
    const { code, stdout } = await suite.nestDq(['stats']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^TUBE +WAITING +DUE +RUNNING +DEAD +CONSUMERS$/m);
    expect(stdout).toMatch(/^order\.cancel( +\d+){4} +yes$/m);
    expect(stdout).toMatch(/^orphan +1 +0 +0 +0 +NONE$/m);
    const text = (await suite.nestDq(['stats', TUBE])).stdout;
    expect(text).toMatch(/^last death +(now|\S.* ago), order-13: discarded: the order has no user$/m);
    expect(text).toMatch(/^consumers +1 process, \d+ connections? taking jobs$/m);
    const one = await suite.nestDq(['stats', TUBE, '--json']);
    expect(JSON.parse(one.stdout)).toMatchObject({ tube: TUBE, nodes: 3, waiting: expect.any(Number) });
  });

  it('ends with 1 if a node is away, and says which', async () => {
    const nodes = `${suite.env['DQ_BEANSTALKS']},127.0.0.1:1`;
    expect(await suite.nestDq(['stats', '--beanstalks', nodes])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('\nnot counted, no answer from: 127.0.0.1:1\n'),
    });
    expect((await suite.nestDq(['stats', TUBE, '--beanstalks', nodes])).code).toBe(1);
  });

  it('refuses an invalid tube', async () => {
    const { code, stderr } = await suite.nestDq(['stats', 'a b']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('the tube is "a b"')]);
  });
});

describe('nest-dq top', () => {
  it('draws a screen until someone presses q, and leaves the terminal as it was', async () => {
    const said = await suite.onTerminal(['top', '--interval', '500ms'], 'CONSUMERS', 'q');
    expect(said).toContain('\x1b[?1049h');
    expect(said).toMatch(/3 of 3 nodes up/);
    // oxlint-disable-next-line no-control-regex
    expect(said.replaceAll(/\x1b\[\d+m/g, '')).toMatch(/order\.cancel( +\d+){4} +yes/);
    expect(said.slice(said.indexOf('CONSUMERS'))).toContain('\x1b[?25h\x1b[?1049l');
    expect(said).toMatch(/status 0$/);
  });

  it.each([
    [[], 'top: no terminal: expected --count, or `nest-dq stats` instead.'],
    [['--interval', '10ms'], 'top: --interval is 10ms: expected 500ms to 1h.'],
    [['--interval', '2'], '--interval: invalid duration "2": no unit'],
  ])('%j is refused without a terminal', async (args, message) => {
    const { code, stderr } = await suite.nestDq(['top', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('nest-dq explain', () => {
  it('says in a sentence why a job has not run, and where its copies are', async () => {
    const { code, stdout } = await suite.nestDq(['explain', '--tube', TUBE, '--key', 'order-42']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^key {3,}order-42$/m);
    expect(stdout).toMatch(/^primary +127\.0\.0\.1:\d+ +delayed +59m/m);
    expect(stdout.match(/^backup \d .*( +0){3}$/gm)).toHaveLength(2);
    const letter = await suite.nestDq(['explain', '--tube', TUBE, '--key', 'order-13']);
    expect(letter.stdout).toMatch(/^died +\S+ \(.+\): discarded$/m);
    const dead = await suite.nestDq(['explain', '--tube', TUBE, '--key', 'order-13', '--json']);
    expect(JSON.parse(dead.stdout)).toMatchObject({ because: 'dead', deadLetter: { why: 'discarded' } });
  });

  it('shows the attempts of a job that is retried, each error in one line, and its key by its id', async () => {
    const { consumer, producer } = suite.system;
    const backoff = { type: 'fixed', delay: '1h' } as const;
    const fail = () => {
      throw new RangeError('no answer\n  from the provider');
    };
    await consumer.consume('payment.collect', fail, { attempts: 6, backoff });
    const { id } = await producer.now('payment.collect', {}, { key: 'order-7', group: 'user-1' });
    await eventually('it failed', async () => {
      const found = await producer.find({ tube: 'payment.collect', key: 'order-7' });
      return found?.state === 'retrying';
    });
    await eventually('the process announced its handler', async () => {
      const { stdout } = await suite.nestDq(['explain', '--tube', 'payment.collect', '--id', id]);
      return /^attempt +1 of 6$/m.test(stdout);
    });
    const { stdout } = await suite.nestDq(['explain', '--tube', 'payment.collect', '--id', id]);
    expect(stdout).toMatch(/^key +order-7$/m);
    expect(stdout).toMatch(/^group +user-1$/m);
    expect(stdout).toMatch(/^backoff +fixed, 1h$/m);
    expect(stdout).toMatch(/^added +\S+Z \(.+\)$/m);
    expect(stdout).toMatch(
      new RegExp(
        `^ *1 +\\S+Z \\(.+\\) +\\d+ms +\\S+:${process.pid} +RangeError: no answer from the provider$`,
        'm',
      ),
    );
  });

  it('ends with 1 if nothing is known, and makes up no id', async () => {
    const { code, stdout } = await suite.nestDq(['explain', '--tube', TUBE, '--key', 'none', '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ because: 'unknown' })]);
    const told = await suite.nestDq(['explain', '--tube', TUBE, '--key', 'none']);
    expect(told.stdout).toMatch(/^key +none$/m);
    expect(told.stdout).not.toMatch(/^id /m);
  });
});

describe('nest-dq processes', () => {
  it('shows the process that consumes, and not itself', async () => {
    const there = async () => (await suite.system.inspector.processes()).length === 1;
    await eventually('the process announced itself', there);
    const { code, stdout } = await suite.nestDq(['processes', '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      [expect.objectContaining({ pid: process.pid, consumes: true })],
    ]);
    expect((await suite.nestDq(['processes'])).stdout).toMatch(
      new RegExp(`^\\S+:${process.pid} .* order\\.cancel`, 'm'),
    );
    expect(await suite.system.inspector.processes()).toHaveLength(1);
  });
});

describe('nest-dq node drain and undrain', () => {
  it('marks the node for all processes, and takes the mark away', async () => {
    const { endpoint } = suite.servers.beanstalkds[0]!;
    const drained = async () => (await suite.system.inspector.nodes()).map((node) => node.drained);
    expect(await suite.nestDq(['node', 'drain', endpoint])).toMatchObject({
      code: 0,
      stdout: `${endpoint}: is drained\n`,
    });
    await eventually('the process knows it', async () => (await drained())[0] === true);
    expect((await suite.nestDq(['node', 'drain', endpoint])).stdout).toBe(
      `${endpoint}: was already drained\n`,
    );
    expect((await suite.nestDq(['node', 'undrain', endpoint])).stdout).toBe(
      `${endpoint}: gets new copies again\n`,
    );
    await eventually('the process knows it', async () => (await drained())[0] === false);
  });

  it('refuses an unknown node', async () => {
    const { code, stderr } = await suite.nestDq(['node', 'drain', '127.0.0.1:1']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('DQ_BAD_OPTION')]);
  });
});
