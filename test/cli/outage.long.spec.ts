// Redis is away: every command says so as the one cause, and none blames its effects.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { cliSuite, TUBE } from './cluster-suite.js';

const suite = cliSuite();
const CAUSE =
  /Redis unusable since \S+ \((now|\d+s ago)\): connect ECONNREFUSED 127\.0\.0\.1:\d+ → start it, or check its address/;

const isUp = async () => (await suite.system.inspector.ledger()).up;

beforeAll(async () => {
  await suite.prepare();
  await suite.system.producer.delay('orphan', 1, '1h');
});

describe('while two of three nodes are down', () => {
  const down = () => suite.servers.beanstalkds.slice(1);
  /** The nodes that a process has announced as away. */
  const announced = async () => Object.keys((await suite.system.inspector.processes())[0]?.awaySince ?? {});

  beforeAll(async () => {
    await Promise.all(down().map((node) => node.kill()));
    await eventually('the process has said so', async () => (await announced()).length === 2);
  });
  afterAll(async () => {
    await Promise.all(down().map((node) => node.restart()));
    await eventually('the process has said so', async () => (await announced()).length === 0);
  });

  it.each([[['stats']], [['stats', TUBE]], [['nodes']], [['top', '--count', '1']]])(
    '%j says which, since when, and that adds fail',
    async (args) => {
      const { stdout } = await suite.nestDq(args);
      const each = down().map(({ endpoint }) => `${endpoint} since \\S+ \\((now|\\d+s ago)\\)`);
      expect(stdout).toMatch(
        new RegExp(
          `^2 of 3 nodes down: ${each.join(', ')} → bring them back: adds fail until 2 are up; jobs run late$`,
          'm',
        ),
      );
    },
  );

  it('doctor says since when each is', async () => {
    const { code, stdout } = await suite.nestDq(['doctor']);
    expect(code).toBe(2);
    for (const { endpoint } of down())
      expect(stdout).toMatch(
        new RegExp(
          `^failure +${endpoint} +no answer: connect ECONNREFUSED ${endpoint}, for the application since \\S+ \\(`,
          'm',
        ),
      );
    expect(stdout).toMatch(
      /^failure +nodes +1 of 3 store jobs\n +→ bring back the others: adds fail until 2 do$/m,
    );
  });

  it('an act does not blame the node that is well', async () => {
    const { code, stderr } = await suite.nestDq(['run', '--tube', TUBE, '--key', 'order-42']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/stored on 0 of 3 nodes, need 2: no copy stored on /);
    expect(stderr).not.toContain(suite.servers.beanstalkds[0]!.endpoint);
  });
});

describe('while Redis is frozen', () => {
  beforeAll(async () => {
    suite.servers.redis.freeze();
    await eventually('the process knows it', async () => !(await isUp()));
  });
  afterAll(async () => {
    suite.servers.redis.thaw();
    await eventually('the process knows it', isUp);
  });

  it.each([[['doctor']], [['stats']], [['nodes']], [['jobs', TUBE]]])(
    '%j has one cause: no answer',
    async (args) => {
      const { code, stdout, stderr } = await suite.nestDq(args);
      expect(code).toBe(2);
      expect(stdout + stderr).toMatch(
        /unusable since \S+ \((now|\d+s ago)\): no answer[^→]*→ restart it if it hangs /i,
      );
      expect(stdout).not.toMatch(/NONE|^warning/m);
    },
  );
});

describe('while Redis is down', () => {
  beforeAll(async () => {
    await suite.servers.redis.stop();
    await eventually('the process knows it', async () => !(await isUp()));
  });

  it('doctor has one failure, first, and no warning about tubes', async () => {
    const { code, stdout } = await suite.nestDq(['doctor']);
    expect(code).toBe(2);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(
      /^failure +redis +unusable since \S+ \((now|\d+s ago)\): connect ECONNREFUSED 127\.0\.0\.1:\d+$/,
    );
    expect(lines[1]).toMatch(
      /^ +→ start it, or check its address, password and permissions; no job runs without it$/,
    );
    expect(stdout.match(/^(failure|warning)/gm)).toEqual(['failure']);
    expect(stdout).toMatch(
      /^ok +tubes +\d tubes with \d+ copies of jobs; consumers are unknown without Redis$/m,
    );
  });

  it('stats shows what the nodes know, no consumer as unknown, and ends with 2', async () => {
    const { code, stdout } = await suite.nestDq(['stats']);
    expect(code).toBe(2);
    expect(stdout.split('\n')[0]).toMatch(CAUSE);
    expect(stdout).toMatch(/^orphan +1 +0 +0 +\? +\?$/m);
    expect(stdout).not.toContain('NONE');
    const one = await suite.nestDq(['stats', TUBE]);
    expect([one.code, one.stdout]).toEqual([2, expect.stringMatching(CAUSE)]);
    expect(one.stdout).toMatch(/^dead +unknown$/m);
    const json = await suite.nestDq(['stats', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      redisDown: { reason: expect.stringContaining('ECONNREFUSED'), since: expect.any(String) },
    });
  });

  it('top and nodes show the cause', async () => {
    const top = await suite.nestDq(['top', '--count', '1']);
    expect(top.stdout).toMatch(new RegExp(`\\n${CAUSE.source}`));
    expect(top.stdout).not.toContain('NONE');
    const nodes = await suite.nestDq(['nodes']);
    expect([nodes.code, nodes.stdout]).toEqual([2, expect.stringMatching(CAUSE)]);
  });

  it.each([
    [['jobs', TUBE]],
    [['due']],
    [['dead', 'list', TUBE]],
    [['dead', 'show', '--tube', TUBE, '--key', 'order-13']],
    [['find', '--tube', TUBE, '--key', 'order-42']],
    [['history']],
    [['acts']],
    [['processes']],
    [['running']],
    [['export', TUBE]],
    [['pause', TUBE]],
    [['revoke', '--tube', TUBE, '--key', 'order-42']],
    [['revoke-many', TUBE, '--yes']],
  ])('%j says only that, and ends with 2', async (args) => {
    const { code, stdout, stderr } = await suite.nestDq(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /^nest-dq: Redis unusable since .*connect ECONNREFUSED [^\n]* → start it, [^\n]*\n$/,
    );
    expect(stderr).not.toContain('the act ended after');
  });

  it('explain still shows where the copies are', async () => {
    const { ref } = (await suite.system.producer.delay('orphan', 2, '1h')) as { ref: string };
    const { code, stdout } = await suite.nestDq(['explain', ref]);
    expect(code).toBe(2);
    expect(stdout).toMatch(CAUSE);
    expect(stdout).toMatch(/^primary +127\.0\.0\.1:\d+ +delayed/m);
  });

  it('no command shows what the driver says about an unsent call', async () => {
    for (const args of [['nodes'], ['top', '--count', '1'], ['doctor'], ['stats'], ['jobs', TUBE]]) {
      const { stdout, stderr } = await suite.nestDq(args);
      expect(stdout + stderr).not.toMatch(/enableOfflineQueue|Stream isn't/);
    }
  });
});
