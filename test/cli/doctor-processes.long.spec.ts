import { hostname } from 'node:os';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProcessRecord } from 'nest-dq/src/fleet/presence.js';
import { eventually } from 'test-servers';
import { startSystem } from '../support/system.js';
import { cliSuite } from './cluster-suite.js';

const suite = cliSuite();
const ending: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0)) await end();
  await there(1);
});

/** Waits until there are `count` processes. */
function there(count: number): Promise<void> {
  const isSo = async () => (await suite.system.inspector.processes()).length === count;
  return eventually(`${count} are there`, isSo);
}

/** The findings of the doctor about processes, and the rest of its complaints. */
async function examine(env: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const { stdout } = await suite.nestDq(['doctor', '--json'], env);
  const { checks } = JSON.parse(stdout) as { checks: { level: string; about: string; fact: string }[] };
  return checks
    .filter(({ level, about }) => level !== 'ok' || about === 'processes')
    .map(({ level, about, fact }) => `${level} ${about}: ${fact}`);
}

/** One more process, which tells something else than this one. */
async function tells(more: Partial<ProcessRecord>): Promise<void> {
  const own = suite.system.process.describe();
  const record = { ...own, id: 'other', host: 'web-9', pid: 9, upFor: 60_000, ...more };
  const member = {
    id: 'other',
    settings: '',
    describe: () => record,
    yields: () => false,
    learn: () => undefined,
  };
  ending.push(suite.system.fleet.presence.join(member));
  await there(2);
}

const here = `${hostname()}:${process.pid}`;

describe('nest-dq doctor of the processes', () => {
  beforeAll(() => there(1));

  it('says how many are there, and that there is none', async () => {
    expect(await examine()).toEqual(['ok processes: 1 process with the same settings, 1 of them consuming']);
    expect(await examine({ DQ_PREFIX: 'nobody.' })).toEqual([
      'warning prefix: no tube begins with "nobody.", but 1 other: order. (1)',
      'ok processes: no process of the application is running',
    ]);
  });

  it('warns of settings that differ, and says who has which', async () => {
    const { stop } = startSystem(suite.servers, { advanced: { lease: '60s' } });
    ending.push(stop);
    await there(2);
    const [warning, ...rest] = await examine();
    expect(rest).toEqual([]);
    expect(warning).toMatch(/^warning processes: `lease` is /);
    expect(warning).toContain(`15000 ms in ${here}`);
    expect(warning).toContain(`60000 ms in ${here}`);
  });

  it('warns of other nodes, and of those that it was not given', async () => {
    const [first, second, third] = suite.servers.beanstalkds.map(({ endpoint }) => endpoint);
    await tells({ nodes: { [first!]: true, [second!]: true } });
    expect(await examine()).toEqual([
      expect.stringMatching(/^warning processes: `beanstalks` is .* in web-9:9/),
    ]);
    expect(await examine({ DQ_BEANSTALKS: `${first!},${second!}` })).toContain(
      `warning processes: they also use ${third}, which this command was not given`,
    );
  });

  it('warns of versions that differ, also from its own', async () => {
    const { version } = suite.system.process.describe();
    await tells({ version: '9.9.9' });
    const [warning, ...rest] = await examine();
    expect(rest).toEqual([]);
    expect(warning).toMatch(/^warning processes: different versions of nest-dq: /);
    for (const part of ['9.9.9 in web-9:9', `${version} in ${here}`, `${version} in this command`])
      expect(warning).toContain(part);
  });

  it('warns of a node that answers here, and not to a process', async () => {
    const nodes = Object.fromEntries(suite.servers.beanstalkds.map(({ endpoint }) => [endpoint, true]));
    const { endpoint } = suite.servers.beanstalkds[0]!;
    await tells({ nodes: { ...nodes, [endpoint]: false } });
    expect(await examine()).toEqual([`warning ${endpoint}: answers here, but is unusable for web-9:9`]);
  });

  it('warns of jobs that were lost, and of those that did not fit in the index', async () => {
    await tells({ lost: 2, unlisted: 1_234 });
    expect(await examine()).toEqual([
      'warning processes: at least 2 jobs lost, found by web-9:9 since startup',
      'warning processes: 1,234 jobs of web-9:9 did not fit in the index',
    ]);
  });

  it('says who has a handler for a tube from which nobody reserves', async () => {
    await suite.system.producer.delay('stuck', 1, '1h');
    await tells({ tubes: [{ tube: 'stuck', concurrency: 1, running: 0, held: 0, long: [] }] });
    expect(await examine()).toEqual([
      expect.stringMatching(
        /^warning stuck: about 1 job, none due; web-9:9 has a handler but does not reserve, heard of (now|\ds ago)$/,
      ),
      expect.stringMatching(/^ok processes: 2 processes/),
    ]);
  });
});
