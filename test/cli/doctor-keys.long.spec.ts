import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import { Discard } from 'nest-dq/src/api/outcome.js';
import type { SealOptions } from 'nest-dq/src/nest/seal-option.js';
import { eventually } from 'test-servers';
import { startSystem } from '../support/system.js';
import { cliSuite } from './cluster-suite.js';

const KEYS = { old: randomBytes(32).toString('base64'), new: randomBytes(32).toString('base64') };
const PREFIX = 'keys.';

const suite = cliSuite();

/** Runs with this seal while it works, as one process of the application. */
async function during(
  seal: SealOptions,
  work: (system: ReturnType<typeof startSystem>) => Promise<void>,
): Promise<void> {
  const system = startSystem(suite.servers, { seal, prefix: PREFIX });
  await eventually('all nodes are up', () => system.nodes.every(({ up }) => up));
  await work(system);
  await system.stop();
}

/** The findings of the doctor about keys. */
async function keysFor(seal: object) {
  const file = join(suite.folder, 'keys.json');
  await writeFile(file, JSON.stringify({ seal, prefix: PREFIX }));
  const { code, stdout } = await suite.nestDq(['doctor', '--json', '--config', file], { DQ_PREFIX: PREFIX });
  const { checks } = JSON.parse(stdout) as {
    checks: readonly { level: string; about: string; fact: string }[];
  };
  return {
    code,
    keys: checks.filter(({ about }) => about === 'keys').map(({ level, fact }) => `${level} ${fact}`),
  };
}

beforeAll(async () => {
  await during({ keys: KEYS, current: 'old' }, async ({ producer, consumer, deadLetters }) => {
    for (let i = 0; i < 3; i++) await producer.delay('waits', i, '1h');
    await consumer.consume('dies', () => Discard.because('it is dead'));
    const dies = await producer.now('dies', 1);
    await eventually('it is dead', async () => (await deadLetters.get(dies)) !== undefined);
  });
  await during({ keys: KEYS, current: 'new' }, async ({ producer, inspector }) => {
    await producer.delay('waits', 3, '1h');
    await eventually('all are listed', async () => (await inspector.jobs('waits')).jobs.length === 4);
  });
}, 120_000);

it('counts what names each key, so that one knows when an old one may go', async () => {
  expect((await keysFor({ keys: KEYS, current: 'new' })).keys).toEqual([
    'ok "new": used by 1 waiting job and 0 dead letters',
    'ok "old": used by 3 waiting jobs and 1 dead letter',
  ]);
  const unused = { unused: randomBytes(32).toString('base64') };
  expect((await keysFor({ keys: { ...KEYS, ...unused }, current: 'new' })).keys).toContain(
    'ok "unused": not used by any waiting job or dead letter found',
  );
});

it('warns of a key that jobs name and that the command does not have', async () => {
  expect(await keysFor({ keys: { new: KEYS.new }, current: 'new' })).toMatchObject({
    code: 1,
    keys: [
      'warning "old", which this command does not have: used by 3 waiting jobs and 1 dead letter',
      'ok "new": used by 1 waiting job and 0 dead letters',
    ],
  });
});

it('shows a dead letter with the key that it needs', async () => {
  const seal = { keys: { new: KEYS.new }, current: 'new' };
  await writeFile(join(suite.folder, 'keys.json'), JSON.stringify({ seal, prefix: PREFIX }));
  const config = ['--config', join(suite.folder, 'keys.json')];
  const list = await suite.nestDq(['dead', 'list', 'dies', ...config], { DQ_PREFIX: PREFIX });
  expect(list.stdout).toContain('needs the key "old"');
  const { stdout } = await suite.nestDq(['dead', 'list', 'dies', '--json', ...config], { DQ_PREFIX: PREFIX });
  const { letters } = JSON.parse(stdout) as { letters: readonly { id: string; missingKey: string }[] };
  const show = await suite.nestDq(['dead', 'show', '--tube', 'dies', '--id', letters[0]!.id, ...config], {
    DQ_PREFIX: PREFIX,
  });
  expect(show.stdout).toMatch(/^payload +sealed with the key "old", which this command does not have$/m);
  const exported = await suite.nestDq(['export', 'dies', '--dead', ...config], { DQ_PREFIX: PREFIX });
  expect(JSON.parse(exported.stdout)).toMatchObject({ state: 'dead', copy: false, missingKey: 'old' });
  expect(exported.stderr).toContain(
    'nest-dq: 1 without a payload: sealed with the key "old", which this command does not have\n',
  );
});

it('exports a waiting job with the key that it needs', async () => {
  const seal = { keys: { new: KEYS.new }, current: 'new' };
  await writeFile(join(suite.folder, 'keys.json'), JSON.stringify({ seal, prefix: PREFIX }));
  const { code, stdout, stderr } = await suite.nestDq(
    ['export', 'waits', '--config', join(suite.folder, 'keys.json')],
    { DQ_PREFIX: PREFIX },
  );
  expect(code).toBe(1);
  const jobs = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { missingKey?: string });
  expect(jobs.map(({ missingKey }) => missingKey)).toContain('old');
  expect(stderr).toContain('without a payload: sealed with the key "old", which this command does not have');
});

it('fails where a name means other bytes than for the application', async () => {
  const { code, keys } = await keysFor({ keys: { ...KEYS, old: KEYS.new }, current: 'new' });
  expect(code).toBe(2);
  expect(keys).toContainEqual(
    expect.stringMatching(/^failure the key "old" of `seal\.keys`: other processes/),
  );
});

it('looks at a part of many, and says so', async () => {
  await during({ keys: KEYS, current: 'new' }, async ({ producer, inspector }) => {
    await Promise.all(Array.from({ length: 600 }, (_, i) => producer.delay('many', i, '2h')));
    await eventually('they are listed', async () => (await inspector.tube('many')).listed === 600);
  });
  const { keys } = await keysFor({ keys: KEYS, current: 'new' });
  expect(keys).toContainEqual(
    expect.stringMatching(/^ok only the waiting jobs due first were checked, 1,000 across all tubes/),
  );
});
