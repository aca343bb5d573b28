import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { stored } from '../../spec-support/stored.js';
import { realEnvironment } from './environment.js';
import { resolveOptions, type DqOptions } from './options.js';
import { DqRuntime } from './runtime.js';

let parent: string;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'nest-dq-environment-'));
});

afterEach(() => rm(parent, { recursive: true }));

async function start(given: DqOptions) {
  const options = resolveOptions({ ...given, prefix: 'app.' }, new CollectingLogger());
  const backend = realEnvironment.backend(options, undefined);
  const runtime = new DqRuntime(options, realEnvironment.clock, backend);
  await runtime.open();
  runtime.start();
  const jobs = async (tube: string) =>
    (await backend.waiting.page(stored(`app.${tube}`), { limit: 250 })).jobs;
  return { runtime, jobs };
}

it('lists what waits in a folder, after a restart, too', async () => {
  const given = { embedded: { dir: join(parent, 'data') } };
  const { runtime, jobs } = await start(given);
  const later = await runtime.producer.delay('t', 1, '2h', { key: 'k' });
  const sooner = await runtime.producer.delay('t', 2, '1h');
  await runtime.producer.revoke(await runtime.producer.delay('t', 3, '1h'));
  const before = await jobs('t');
  expect(before.map(({ id }) => id)).toEqual([sooner.id, later.id]);
  await runtime.close();
  const again = await start(given);
  const after = await again.jobs('t');
  expect(after).toEqual(
    before.map((job) => ({ ...job, places: after.find(({ id }) => id === job.id)!.places })),
  );
  expect(await again.runtime.producer.revoke(sooner)).toBe('revoked');
  expect((await again.jobs('t')).map(({ id }) => id)).toEqual([later.id]);
  await again.runtime.close();
});

it('lists what waits in memory', async () => {
  const { runtime, jobs } = await start({});
  const { id } = await runtime.producer.delay('t', 1, '1h');
  expect(await jobs('t')).toMatchObject([{ id, attempt: 0, places: [{ index: 0 }] }]);
  await runtime.close();
});

it('fails adds before the disk of a folder is full, runs what is there, and says why', async () => {
  const dir = join(parent, 'data');
  const before = await start({ embedded: { dir } });
  const added = await before.runtime.producer.delay('t', 1, '1h');
  await before.runtime.close();

  const lines: string[] = [];
  const logger = {
    log: () => undefined,
    warn: (line: string) => lines.push(line),
    error: (line: string) => lines.push(line),
  };
  const full = await start({ embedded: { dir, minFree: 2 ** 53 - 1 }, patience: 0, logger });
  const { producer } = full.runtime;
  await expect(producer.delay('t', 2, '1h')).rejects.toMatchObject({
    code: 'DQ_TOO_FEW_COPIES',
    indeterminate: false,
    nodes: { embedded: expect.stringContaining('OUT_OF_MEMORY') },
  });
  expect(lines.join('\n')).toMatch(
    /the folder .*data has \d+ MiB free, less than the \d+ MiB of `minFree`: new jobs/,
  );
  expect(await producer.revoke(added)).toBe('revoked');
  await full.runtime.close();
});
