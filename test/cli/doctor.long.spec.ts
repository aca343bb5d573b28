import { afterEach, describe, expect, it } from '@jest/globals';
import { ask, eventually, putRaw, startBeanstalkd, startRedis, type Address } from 'test-servers';
import { startSystem } from '../support/system.js';
import { cliSuite, TUBE } from './cluster-suite.js';

interface Found {
  readonly status: string;
  readonly checks: readonly { level: string; about: string; fact: string; advice?: string }[];
}

const suite = cliSuite();
const extra: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(extra.splice(0).map((server) => server.stop()));
});

async function examine(env: Readonly<Record<string, string>> = {}) {
  const { code, stdout } = await suite.nestDq(['doctor', '--json'], env);
  const { status, checks } = JSON.parse(stdout) as Found;
  const bad = checks.filter(({ level }) => level !== 'ok');
  return { code, status, checks, bad: bad.map(({ level, about, fact }) => `${level} ${about}: ${fact}`) };
}

function also<T extends { stop(): Promise<void> }>(server: T): T {
  extra.push(server);
  return server;
}

describe('nest-dq doctor', () => {
  it('ends with 0 where all is well, and has a line for each check', async () => {
    expect(await examine()).toMatchObject({ code: 0, status: 'ok', bad: [] });
    const { stdout } = await suite.nestDq(['doctor']);
    for (const { endpoint } of suite.servers.beanstalkds)
      expect(stdout).toMatch(
        new RegExp(`^ok +${endpoint} +binlog works: \\S+ records since it started$`, 'm'),
      );
    expect(stdout).toMatch(/\n\n\d+ checks: \d+ ok\n$/);
  });

  it('ends with 2 where a node is away', async () => {
    const { code, bad } = await examine({ DQ_BEANSTALKS: `${suite.env['DQ_BEANSTALKS']},127.0.0.1:1` });
    expect(code).toBe(2);
    expect(bad).toEqual([
      'failure 127.0.0.1:1: no answer: connect ECONNREFUSED 127.0.0.1:1',
      'warning nodes: 3 of 4 store jobs',
    ]);
  });

  it('finds a node that accepts connections and does not answer, and does not say to start it', async () => {
    const node = also(await startBeanstalkd());
    node.freeze();
    const { stdout } = await suite.nestDq(['doctor'], {
      DQ_BEANSTALKS: `${suite.env['DQ_BEANSTALKS']},${node.endpoint}`,
    });
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      `failure  ${node.endpoint}  no answer within 2000 ms`,
      expect.stringMatching(/^ +→ it accepts connections, so it hangs, or replays its binlog: /),
    ]);
  });

  it('says nothing of the tubes where no node answers', async () => {
    const { code, checks } = await examine({ DQ_BEANSTALKS: '127.0.0.1:1,127.0.0.1:2' });
    expect(code).toBe(2);
    expect(checks.map(({ about }) => about)).not.toContain('tubes');
    expect(checks).toContainEqual(
      expect.objectContaining({
        level: 'failure',
        about: 'nodes',
        fact: '0 of 2 store jobs',
        advice: 'bring them back: nothing runs, and adds fail',
      }),
    );
  });

  it('finds two names of one server', async () => {
    const { port, endpoint } = suite.servers.beanstalkds[0]!;
    const { code, bad } = await examine({ DQ_BEANSTALKS: `${suite.env['DQ_BEANSTALKS']},localhost:${port}` });
    expect(code).toBe(2);
    expect(bad).toContain(`failure nodes: ${endpoint} and localhost:${port} are the same server`);
  });

  it('finds that processes use another Redis', async () => {
    const redis = also(await startRedis());
    const { code, bad } = await examine({ DQ_REDIS: redis.url });
    expect(code).toBe(2);
    expect(bad).toEqual(
      suite.servers.beanstalkds.map(({ endpoint }) =>
        expect.stringMatching(
          new RegExp(
            `^failure ${endpoint}: processes use ledger [0-9a-f]{16} there, but this Redis has none$`,
          ),
        ),
      ),
    );
    const { code: refused, stderr } = await suite.nestDq(['revoke', '--tube', TUBE, '--key', 'k'], {
      DQ_REDIS: redis.url,
    });
    expect([refused, stderr]).toEqual([1, expect.stringContaining('DQ_OTHER_LEDGER')]);
  });

  it('warns of a node without a binlog, and of one that drains', async () => {
    const node = also(await startBeanstalkd({ binlog: false }));
    process.kill(node.pid, 'SIGUSR1');
    await eventually('it drains', async () => (await ask(node, 'stats')).includes('\ndraining: true\n'));
    const { code, bad } = await examine({ DQ_BEANSTALKS: `${suite.env['DQ_BEANSTALKS']},${node.endpoint}` });
    expect(code).toBe(1);
    expect(bad).toEqual([
      `warning ${node.endpoint}: draining: accepts no more jobs`,
      `warning ${node.endpoint}: no binlog`,
    ]);
  });

  it('finds a binlog that has stopped', async () => {
    const node = also(await startBeanstalkd());
    await putRaw(node, TUBE, 'x');
    await node.limitFiles(1);
    await ask(node, 'put 0 0 60 1\r\nx').catch(() => undefined);
    for (let i = 0; i < 3; i++) await ask(node, 'put 0 0 60 1\r\nx').catch(() => undefined);
    const { code, bad } = await examine({ DQ_BEANSTALKS: `${suite.env['DQ_BEANSTALKS']},${node.endpoint}` });
    expect(code).toBe(2);
    expect(bad).toContainEqual(expect.stringMatching(`^failure ${node.endpoint}: binlog has stopped`));
  });

  it('finds what is wrong with Redis', async () => {
    const args = ['--maxmemory-policy', 'allkeys-lru', '--maxmemory', '900kb'];
    const redis = also(await startRedis({ appendonly: false, args }));
    const { code, bad } = await examine({ DQ_REDIS: redis.url });
    expect(code).toBe(2);
    expect(bad).toEqual([
      'failure redis: maxmemory-policy is allkeys-lru',
      'failure redis: append-only file is off',
      expect.stringMatching(/^failure redis: uses .* \d+% of maxmemory$/),
    ]);
  });

  it('finds a replica, a database that is not there, and a Redis that is away', async () => {
    const { host, port } = suite.servers.redis;
    const replica = also(await startRedis({ args: ['--replicaof', host, String(port)] }));
    expect((await examine({ DQ_REDIS: replica.url })).bad).toContain(
      `failure redis: is a replica of ${host}:${port}`,
    );
    expect((await examine({ DQ_REDIS: `${suite.servers.redis.url}/99` })).bad).toEqual([
      expect.stringMatching(/^failure redis: unusable from here: .*DB index is out of range/),
    ]);
    expect(await examine({ DQ_REDIS: 'redis://127.0.0.1:1' })).toMatchObject({
      code: 2,
      bad: [expect.stringMatching(/^failure redis: unusable from here: .*ECONNREFUSED/)],
    });
  });

  it('warns of a tube with jobs and no consumer, without the prefix', async () => {
    const app = also(startSystem(suite.servers, { prefix: 'shop.' }));
    const isThere = async () => (await app.inspector.processes()).length === 1;
    await eventually('the application is there', isThere);
    await suite.system.producer.delay('shop.orphan', 1, '1h');
    const expected = 'warning orphan: about 1 job, none due, but no consumer';
    expect(await examine({ DQ_PREFIX: 'shop.' })).toMatchObject({ code: 1, bad: [expected] });
    await suite.system.consumer.consume('shop.orphan', () => undefined);
    const isWatched = async (node: Address) =>
      (await ask(node, 'stats-tube shop.orphan')).includes('watching: 1');
    for (const node of suite.servers.beanstalkds) await eventually('it is consumed', () => isWatched(node));
    expect((await examine({ DQ_PREFIX: 'shop.' })).bad).toEqual([]);
  });

  it('reports a paused tube as paused, and not as one without a consumer', async () => {
    const { producer, control } = suite.system;
    const { ref } = await producer.delay('night.report', 1, '1h');
    await control.pause('night.report', { until: new Date(Date.now() + 3_600_000) });
    const { code, checks } = await examine({ DQ_PREFIX: 'night.' });
    expect(code).toBe(0);
    const about = checks.filter((check) => check.about === 'report');
    expect(about).toEqual([
      {
        level: 'ok',
        about: 'report',
        fact: expect.stringMatching(
          /^paused since \S+ \(.+\) until \S+ \(in 59m .+\), with about 1 job, none due$/,
        ),
      },
    ]);
    await control.resume('night.report');
    expect((await examine({ DQ_PREFIX: 'night.' })).bad).toEqual([
      'warning processes: none of the application is running, and about 1 job in 1 tube, none due',
    ]);
    await producer.revoke(ref);
  });

  it('warns of a node that is drained', async () => {
    const { endpoint } = suite.servers.beanstalkds[0]!;
    await suite.system.control.drainNode(endpoint);
    expect(await examine()).toMatchObject({
      code: 1,
      bad: [`warning ${endpoint}: drained, so it gets no new copies`],
    });
    await suite.system.control.undrainNode(endpoint);
  });

  it('says that Redis refuses what the application asks', async () => {
    await ask(
      suite.servers.redis,
      'ACL SETUSER reader on nopass ~* +info +time +ping +hello +client +select',
    );
    const { host, port } = suite.servers.redis;
    const { code, bad } = await examine({ DQ_REDIS: `redis://reader:x@${host}:${port}` });
    expect(code).toBe(2);
    expect(bad).toContainEqual(
      expect.stringMatching(/^failure redis: answers, but nest-dq's scripts fail: .*NOPERM/),
    );
  });

  it('warns of buried copies without a dead letter', async () => {
    await suite.prepare();
    expect((await examine()).bad).toEqual([]); // its copies have a letter
    await ask(suite.servers.redis, 'FLUSHALL');
    // Until the consumer stores it again, the ledger has no identity, which is a failure of its own.
    const identity = () => ask(suite.servers.redis, 'GET {:}::ledger');
    await eventually('the identity is back', async () => /[0-9a-f]{16}/.test(await identity()));
    const { code, bad } = await examine();
    expect(code).toBe(1);
    expect(bad).toEqual([
      expect.stringMatching(`^warning ${TUBE}: \\d+ buried cop(y|ies), but no dead letter in the ledger$`),
    ]);
  });
});
